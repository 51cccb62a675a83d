"""Running a model of this machine. The daemon has roles.py and inference.py; worker.py, engines.py, onnx.py and llama/
run in the inference worker, which messages.py connects with it.

Files, downloads and conversions are elsewhere: a model is a path here.
"""
