"""ONNX Runtime: encoders and cross-encoders. Only the inference worker imports this package."""
