"""Query expansion: a language model writes variants of a query, and the guard checks which of them may be used."""
