"""`gnoctl context …`: what a scope is about."""
