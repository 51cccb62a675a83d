"""Two questions with their answers: a model that tells what belongs together must match them the right way round."""

from __future__ import annotations

PAIRS = (
    ("How do I bake bread at home?", "Knead flour, water and yeast, let the dough rise, and bake the loaf."),
    ("Why does my program crash?", "A null pointer was dereferenced; the stack trace shows the faulty function."),
)
