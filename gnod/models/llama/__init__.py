"""What touches llama.cpp: loading a model, and computing with it. Imported by the inference worker and nowhere else."""
