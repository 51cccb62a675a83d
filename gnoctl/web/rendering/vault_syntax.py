"""Rules of markdown-it for the syntax of Obsidian, Logseq and GitHub that neither CommonMark nor its plugins have.

The rules do not change the lines of blocks, so each block still knows its source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_MARKED = re.compile(r"(==|\^\^)(?=[^\s=^])((?:(?!\1)[^\n]){1,2000}?)(?<=\S)\1(?!=)")
_COMMENT = re.compile(r"%%(?!%).{0,20000}?%%", re.DOTALL)
_TAG = re.compile(r"(?<![^\s(])#(?:\[\[(?P<words>[^\[\]\n|]{1,200})\]\]|(?P<tag>(?=[\w/-]*[^\W\d])[\w/-]{1,200}))")
_BLOCK_ID = re.compile(r"(?:^|[ \t]+)\^[A-Za-z0-9-]{1,100}[ \t]*\Z")
_PROPERTY = re.compile(r"(?P<name>\w[\w .-]{0,60}?)::(?:[ \t]+|\Z)")
_INLINE_PROPERTY = re.compile(r"[\[(](?P<name>\w[\w -]{0,60})::[ \t]*(?P<value>[^\[\]()\n]{1,300})[\])]")
_MACRO = re.compile(r"\{\{\s*(?P<name>[\w-]{1,30})(?P<what>[^{}\n]{0,300})\}\}")
_REFERENCE = re.compile(r"\(\((?P<id>[0-9a-f]{8}-[0-9a-f-]{27})\)\)")
_SIZE = re.compile(r"\{(?=[^{}\n]*:(?:width|height)\b)[^{}\n]{1,100}\}")
_CALLOUT = re.compile(r"\[!(?P<kind>[^\[\]\n|]{1,40})(?:\|[^\[\]\n]*)?\](?P<fold>[+-]?)(?:\s+|\Z)")
_TASK = re.compile(r"\[(?P<state>[^\n\[\]])\](?:[ \t]+|\Z)")
_MARKER = re.compile(r"(?P<state>TODO|DOING|NOW|LATER|WAITING|DONE|CANCELL?ED)[ \t]+")
_BEGIN = re.compile(r"#\+BEGIN_(?P<kind>\w{1,40})\b.*", re.IGNORECASE)
_HIDDEN = frozenset({"id", "collapsed", "background-color", "heading", "created-at", "updated-at"})  # Logseq's own

# Maps the state between the brackets, or the marker of Logseq, to the box that shows it.
_BOXES = {" ": "☐", "TODO": "☐", "LATER": "☐", "WAITING": "☐", "/": "◪", "DOING": "◪", "NOW": "◪"}
_CANCELLED = dict.fromkeys(("-", "CANCELED", "CANCELLED"), "☒")
# Maps the colour of callouts to the kinds that have it.
_COLOURS = {
    "tip": ("abstract", "summary", "tldr", "tip", "hint"),
    "good": ("success", "check", "done"),
    "warning": ("warning", "caution", "attention", "question", "help", "faq"),
    "danger": ("failure", "fail", "missing", "danger", "error", "bug"),
    "important": ("important", "example"),
    "quote": ("quote", "cite"),
}
_COLOUR_OF = {kind: colour for colour, kinds in _COLOURS.items() for kind in kinds}
CLASSES = frozenset({"callout", "callout-title", "property", "task", "task-box", "done", "macro", *_COLOURS, "note"})

_Push = Callable[[StateInline, re.Match[str]], None]


def vault_syntax(parser: MarkdownIt) -> None:
    """Add the rules, for `MarkdownIt.use`."""
    parser.inline.ruler.before("emphasis", "marked", _rule("=^", _MARKED, _push_marked))
    for name, rule in _BEFORE_LINKS.items():
        parser.inline.ruler.before("link", name, rule)
    parser.inline.add_terminator_char("(")
    for name, block in (("comment_block", _comment_block), ("begin_end", _begin_end)):
        parser.block.ruler.before("fence", name, block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.core.ruler.push("block_ids", _block_ids)
    parser.core.ruler.push("properties", _properties)
    parser.core.ruler.push("tasks", _tasks)
    parser.core.ruler.push("callouts", _callouts)


# Inline


def _rule(begins: str, pattern: re.Pattern[str], push: _Push) -> Callable[[StateInline, bool], bool]:
    """Return the rule for text that matches the pattern and begins with one of these characters."""

    def rule(state: StateInline, silent: bool) -> bool:
        match = pattern.match(state.src, state.pos, state.posMax) if state.src[state.pos] in begins else None
        if match is None or (pattern is _TAG and state.linkLevel):  # in a link, a tag is text
            return False
        if not silent:
            push(state, match)
        state.pos = match.end()
        return True

    return rule


def _push_marked(state: StateInline, match: re.Match[str]) -> None:
    most, state.posMax, state.pos = state.posMax, match.end(2), match.start(2)
    state.push("mark_open", "mark", 1)
    state.md.inline.tokenize(state)
    state.push("mark_close", "mark", -1)
    state.posMax = most


def _push_tag(state: StateInline, match: re.Match[str]) -> None:
    """Link a tag to a search for it."""
    state.push("link_open", "a", 1).attrs = {"href": f"tag:{quote(match['words'] or match['tag'])}"}
    state.push("text", "", 0).content = match[0]
    state.push("link_close", "a", -1)


def _push_property(state: StateInline, match: re.Match[str]) -> None:
    _push_span(state, "property", match["name"])
    state.push("text", "", 0).content = f" {match['value']}"


def _push_span(state: StateInline, name: str, text: str) -> None:
    state.push("span_open", "span", 1).attrs = {"class": name}
    state.push("text", "", 0).content = text
    state.push("span_close", "span", -1)


def _hide(_state: StateInline, _match: re.Match[str]) -> None:
    pass


_BEFORE_LINKS = {
    "comment": _rule("%", _COMMENT, _hide),
    "tag": _rule("#", _TAG, _push_tag),
    "size": _rule("{", _SIZE, _hide),  # of a picture, in Logseq
    # A macro of Logseq appears as written, because only the program can run it.
    "macro": _rule("{", _MACRO, lambda state, match: _push_span(state, "macro", match[0])),
    "block_reference": _rule(
        "(", _REFERENCE, lambda state, match: _push_span(state, "macro", f"block {match['id'][:8]}")
    ),
    "inline_property": _rule("[(", _INLINE_PROPERTY, _push_property),  # of Dataview: `[due:: 2026-05-04]`
}


# Blocks


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _comment_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Leave out a comment that begins a line. It may span many lines."""
    first = _line(state, start)
    if not first.startswith("%%") or "%%" in first[2:]:
        return False
    last = next((number for number in range(start + 1, end) if _line(state, number).rstrip().endswith("%%")), None)
    if last is None:
        return False
    if not silent:
        state.line = last + 1
    return True


def _begin_end(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read a block of Logseq or Org, such as `#+BEGIN_NOTE`, as a callout."""
    match = _BEGIN.fullmatch(_line(state, start))
    if not match:
        return False
    mark = f"#+end_{match['kind']}".lower()
    last = next((number for number in range(start + 1, end) if _line(state, number).strip().lower() == mark), None)
    if last is None:
        return False
    if silent:
        return True
    kind = match["kind"].lower()
    if kind in ("src", "example", "export"):
        token = state.push("fence", "code", 0)
        token.content = state.getLines(start + 1, last, state.blkIndent, keepLastLF=True)
        token.map = [start, last + 1]
    else:
        state.push("blockquote_open", "blockquote", 1).map = [start, last + 1]
        if kind != "quote":
            _push_paragraph(state, f"[!{kind}]", start)
        most, state.lineMax = state.lineMax, last
        state.md.block.tokenize(state, start + 1, last)
        state.lineMax = most
        state.push("blockquote_close", "blockquote", -1)
    state.line = last + 1
    return True


def _push_paragraph(state: StateBlock, text: str, line: int) -> None:
    state.push("paragraph_open", "p", 1).map = [line, line + 1]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = text, [line, line + 1], []
    state.push("paragraph_close", "p", -1)


# The tokens of a whole text


def _texts(tokens: Sequence[Token], container: str) -> Iterator[tuple[int, Token, Token]]:
    """Yield the index of each container whose first block is a paragraph that begins with text, with the paragraph's
    content and this text."""
    for at, token in enumerate(tokens[:-2]):
        if token.type != container or tokens[at + 1].type != "paragraph_open":
            continue
        children = tokens[at + 2].children or []
        if children and children[0].type == "text":
            yield at, tokens[at + 2], children[0]


def _block_ids(state: StateCore) -> None:
    """Leave out the names of blocks, to which links refer: `^block`."""
    for token in state.tokens:
        last = token.children[-1] if token.type == "inline" and token.children else None
        if last is not None and last.type == "text" and "^" in last.content:
            last.content = _BLOCK_ID.sub("", last.content)


def _properties(state: StateCore) -> None:
    """Mark the names of properties on their own line: `name:: value`."""
    for token in state.tokens:
        if token.type == "inline" and "::" in token.content and token.children:
            token.children = [each for line in _lines(token.children) for each in _as_property(line)]


def _lines(children: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each line, with the break at its end."""
    line: list[Token] = []
    for child in children:
        line.append(child)
        if child.type in ("softbreak", "hardbreak"):
            yield line
            line = []
    yield line


def _as_property(line: list[Token]) -> list[Token]:
    match = _PROPERTY.match(line[0].content) if line and line[0].type == "text" else None
    if not match:
        return line
    if match["name"] in _HIDDEN:
        return []
    line[0].content = f" {line[0].content[match.end() :]}"
    if line[-1].type == "softbreak":
        line[-1].type, line[-1].tag = "hardbreak", "br"
    return [*_span("property", match["name"]), *line]


def _span(name: str, text: str) -> list[Token]:
    opening = Token("span_open", "span", 1, attrs={"class": name})
    return [opening, Token("text", "", 0, content=text), Token("span_close", "span", -1)]


def _tasks(state: StateCore) -> None:
    for at, inline, text in _texts(state.tokens, "list_item_open"):
        match = _TASK.match(text.content) or _MARKER.match(text.content)
        if not match:
            continue
        text.content = text.content[match.end() :]
        name = match["state"]
        box = (_BOXES | _CANCELLED).get(name, "☑")
        classes = "task done" if box == "☑" or name in _CANCELLED else "task"
        state.tokens[at].attrJoin("class", classes)
        inline.children = [*_span("task-box", box), Token("text", "", 0, content=" "), *(inline.children or [])]


def _callouts(state: StateCore) -> None:
    for at, inline, text in reversed(list(_texts(state.tokens, "blockquote_open"))):  # the inner ones first
        if match := _CALLOUT.match(text.content):
            text.content = text.content[match.end() :]
            _make_callout(state.tokens, at, match["kind"].strip(), match["fold"], inline)


def _make_callout(tokens: list[Token], at: int, kind: str, fold: str, inline: Token) -> None:
    """Turn a quote into a callout. The first line of its first paragraph is the title."""
    opening = tokens[at]
    closing = next(each for each in tokens[at:] if each.type == "blockquote_close" and each.level == opening.level)
    opening.tag = closing.tag = "details" if fold else "div"
    opening.attrJoin("class", f"callout {_COLOUR_OF.get(kind.lower(), 'note')}")
    if fold == "+":
        opening.attrSet("open", "")
    children = inline.children or []
    end = next((n for n, each in enumerate(children) if each.type in ("softbreak", "hardbreak")), len(children))
    title, rest = children[:end], children[end + 1 :]
    if not any(each.content.strip() or each.children for each in title):
        title = [Token("text", "", 0, content=kind.replace("-", " ").capitalize())]
    paragraph = tokens[at + 1]
    head = "summary" if fold else "p"
    more = Token("inline", "", 0, children=rest, content="", level=inline.level, map=inline.map)
    between = [Token("paragraph_close", head, -1), Token("paragraph_open", "p", 1, map=_next_line(inline.map)), more]
    paragraph.tag = head
    paragraph.hidden = False
    paragraph.attrJoin("class", "callout-title")
    inline.children = title
    if rest:
        tokens[at + 3 : at + 3] = between
    else:
        tokens[at + 3].tag = head


def _next_line(lines: list[int] | None) -> list[int] | None:
    return [min(lines[0] + 1, lines[1]), lines[1]] if lines else None
