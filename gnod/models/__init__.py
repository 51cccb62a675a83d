"""Language models: names, files, downloads, and the worker that runs them. Must not depend on the store, the wire types
or the pipeline."""
