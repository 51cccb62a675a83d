"""Source code: which languages are parsed, what a text defines, and chunks that follow the definitions."""
