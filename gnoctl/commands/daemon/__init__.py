"""`gnoctl daemon …`: the process itself."""
