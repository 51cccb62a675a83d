"""Globs over relative paths, as collections' patterns and `multi-get` use them. Pure."""

from __future__ import annotations

import re


def glob_pattern(pattern: str) -> re.Pattern[str]:
    """Return a glob as a regular expression on whole relative paths: `*`, `?`, `[…]` stay inside a path part, `**/`
    spans parts, `{a,b}` chooses.

    >>> bool(glob_pattern("**/*.{md,txt}").fullmatch("a/b/c.txt")), bool(glob_pattern("*.md").fullmatch("a/b.md"))
    (True, False)
    """
    out = []
    depth = 0
    for token in re.findall(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", pattern.strip().removeprefix("./"), re.DOTALL):
        if token == "{":
            depth += 1
        piece = _GLOB.get(token) or ("|" if token == "," and depth else None)
        if token == "}" and depth:
            depth, piece = depth - 1, ")"
        if piece is None:
            is_class = len(token) > 1 and token[0] == "["
            piece = re.sub(r"\A\[!", "[^", token.replace("\\", "\\\\")) if is_class else re.escape(token)
        out.append(piece)
    try:
        return re.compile("".join(out) + ")" * depth, re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))


_GLOB = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:"}
