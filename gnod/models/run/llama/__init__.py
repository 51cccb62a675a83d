"""llama.cpp: loading models and computing with them. Only the inference worker imports this package."""
