"""From the forms that models are published in to GGUF, the one that llama.cpp reads.

What comes in was downloaded: every length is checked against the file, and what is wrong is `ModelCorrupt`.
Knows nothing of where files come from or go to; whoever calls puts a finished file in its place.
"""
