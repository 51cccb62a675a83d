"""llama.cpp: loads models and computes with them. Only the inference worker imports this package."""
