"""How large the download of a model is, asked before anything is downloaded."""
