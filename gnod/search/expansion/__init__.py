"""Other wordings of a query, by a language model: what it is asked, and what of its answer may be used."""
