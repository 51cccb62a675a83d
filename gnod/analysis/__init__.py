"""Turn text into index terms. Pure; documents and queries use the same code."""
