"""`gnoctl memory …`: what was remembered, one by one and as a whole."""
