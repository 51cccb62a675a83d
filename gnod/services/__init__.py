"""Long-lived state behind the methods: configuration, models, embedding, search, memory, storage."""
