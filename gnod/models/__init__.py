"""Language models: names, files, downloads, and the worker that runs them. Knows no store, no wire and no pipeline."""
