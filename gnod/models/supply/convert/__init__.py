"""Convert published models to GGUF, the format that llama.cpp reads.

The input was downloaded: every length is checked against the file, and every fault is `ModelCorrupt`. It must not
depend on where files come from or go to.
"""
