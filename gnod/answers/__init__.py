"""From a question to quotes, evidence, or a generated answer with checked citations. `service` is the entry.

Finds no documents itself (that is `gnod.search`), and knows no wire. Only `service` and `query_models` know models that
run; everything else is computed from texts.
"""
