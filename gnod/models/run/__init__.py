"""Running a model of this machine: the inference worker and the daemon's side of it. llama/ is what runs in the worker.

Files, downloads and conversions are elsewhere: a model is a path here.
"""
