"""Store a shared collection in Milvus: a server, a cluster, or milvus-lite. Only this package uses pymilvus."""
