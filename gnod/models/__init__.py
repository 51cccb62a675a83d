"""Naming, fetching and running language models. Knows no store, no wire and no pipeline."""
