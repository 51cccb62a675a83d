"""`gnoctl collection …`: the folders that are indexed."""
