"""From ranked documents and a question to an answer with valid citations: choose passages, build the prompt, check.

Runs no model and does not know the wire: the caller runs the model between `prompt` and `citations`.
"""
