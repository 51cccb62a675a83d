"""Answer a question by quotes, evidence, or a generated answer with checked citations. `service` is the entry point.

`gnod.search` finds the documents. This package must not depend on the wire. Only `service` and `query_models` use
running models; all other modules compute from texts.
"""
