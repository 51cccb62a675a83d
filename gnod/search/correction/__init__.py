"""Words of a query that the index does not know: which of its words are meant."""
