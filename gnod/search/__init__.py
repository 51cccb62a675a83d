"""Search. `service` has the steps of every kind of search before and after its retrieval.

    query/        the meaning of the words, dates and references of a query
    fields/       `tag:work` in a query; correction/ misspelt words; expansion/ variants by a model
    keyword/      ranks documents by their words
    meaning/      ranks documents by their vectors
    ranking/      one ranking from several: fusion, trust, copies
    hybrid/       all of that in one query, with a reranker, within a budget
    passages/     the best passage of a document, and its words marked
    related/      documents around a document

Must not depend on the wire or files. Answers are in `gnod.answers`.
"""
