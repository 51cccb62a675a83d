"""Vector search. Each module uses those below it:

    vector_search         ranks documents by query vectors; the vectors of each model in memory
    presorted_vectors     very many vectors: compares only those with similar signs
    candidate_documents   searches deeper until enough documents pass the filters
    vector_matrix         the similarity of all vectors to a query, and the documents of each vector
    vector_signs          one bit for each dimension

Must not depend on models or words. `gnod.ingest.embedding` makes the vectors.
"""
