"""Random models as GGUF files: the tensors of the architectures, by the names of transformers and of llama.cpp."""
