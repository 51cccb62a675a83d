"""Runs the models of this machine. roles.py and inference.py run in the daemon; worker.py, engines.py, onnx.py and
llama/ run in the inference worker. messages.py connects them.

This package knows a model only as a path. Files, downloads and conversions are elsewhere.
"""
