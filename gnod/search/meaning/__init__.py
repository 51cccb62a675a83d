"""Vector search. Each module uses those below it:

    vector_search         from query vectors to ranked documents; the vectors of each model in memory
    presorted_vectors     very many vectors: only those with similar signs are compared
    candidate_documents   deeper and deeper, until enough documents pass the filters
    vector_matrix         the similarity of all vectors to a query, and which documents hold which vectors
    vector_signs          one bit for each dimension

Must not depend on models or words. How vectors are made is in `gnod.ingest.embedding`.
"""
