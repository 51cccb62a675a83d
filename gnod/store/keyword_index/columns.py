"""The order of the columns in the full-text table.

FTS5 writes two bytes more for each document of a word that is not in the first column, and nearly all are in the body.
Everywhere else, weights and counts are in the order of `Terms`.
"""

from __future__ import annotations

# The places of path, title and body among the columns, and of the columns in `Terms`: they are the same.
ORDER = (2, 1, 0)
BODY = 0
