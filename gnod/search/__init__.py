"""Searching. `service` is what every kind of search does before and after its retrieval.

    query/        what the words, dates and references of a query mean
    fields/       `tag:work` in a query; correction/ misspelt words; expansion/ other wordings by a model
    keyword/      ranked documents by their words
    meaning/      ranked documents by their vectors
    ranking/      one ranking of several: fusion, trust, copies
    hybrid/       all of that in one query, with a reranker, within a budget
    passages/     the best passage of a document, and its words marked
    related/      documents around a document

Must not depend on the wire or files. Answers are in `gnod.answers`.
"""
