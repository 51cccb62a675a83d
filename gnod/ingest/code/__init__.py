"""Parse source code, find the definitions in it, and split it into chunks that follow the definitions."""
