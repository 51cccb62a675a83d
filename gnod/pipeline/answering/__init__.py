"""From ranked documents and a question to an answer whose citations hold: the passages to read, the prompt, the check.

Runs no model and knows no wire: who asks the model stands between `prompt` and `citations`.
"""
