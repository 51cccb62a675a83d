"""`gnoctl models …`: the language models."""
