"""Render Markdown, with the line of the source on each block. The result is not safe yet: `sanitising` makes it so."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from gnoctl.web.rendering.code import coloured, lexer_of_language, numbered
from gnoctl.web.rendering.links import PageLinks, is_external, uri_of, why_nowhere

# A longer line may take seconds: each bracket may begin a link, whose end is searched.
_MAX_LINE = 50_000
_MAX_BRACKETS = 8_000

_ALIGNMENT = re.compile(r"text-align:(\w+)")
_SLUG = re.compile(r"[^\w\- ]")
_WIKILINK = re.compile(r"!?\[\[([^\[\]|\n]{1,1000}?)(?:\\?\|([^\[\]\n]{0,1000}))?\]\]")

LineOf = Callable[[int], int]
"""Maps a line of the rendered text, from 0, to the line of the source."""


def render(text: str, line_of: LineOf, links: PageLinks) -> str:
    environment = {"wikilinks": links.names, "line_of": line_of}
    tokens = _parser.parse(text, environment)
    for number, token in enumerate(tokens):
        if token.map is not None and token.nesting >= 0:
            token.attrSet("data-line", str(line_of(token.map[0])))
        if token.type == "heading_open":
            token.attrSet("id", _slug("".join(child.content for child in tokens[number + 1].children or ())))
        if token.type in ("th_open", "td_open"):
            _align(token)
        for child in token.children or ():
            if child.type == "link_open":
                _mark(child, links)
    return str(_parser.renderer.render(tokens, _parser.options, environment))


def is_too_much(text: str) -> bool:
    """Tell whether a text would take too long."""
    return text.count("[") > _MAX_BRACKETS or max(map(len, text.split("\n"))) > _MAX_LINE


def _mark(token: Token, links: PageLinks) -> None:
    """Open a link to elsewhere in a new tab, and say why one leads nowhere."""
    address = str(token.attrGet("href"))
    known = links.known(address)
    if is_external(address):
        token.attrSet("target", "_blank")
    elif known is not None and known.to is None:
        token.attrSet("class", "unresolved")
        token.attrSet("title", why_nowhere(known))


def _align(token: Token) -> None:
    """A class instead of a style, which the page's policy refuses."""
    if match := _ALIGNMENT.search(str(token.attrs.pop("style", ""))):
        token.attrSet("class", match[1])


def _slug(title: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return _SLUG.sub("", title.strip().lower()).replace(" ", "-")


def _fence(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    lines = coloured(token.content.removesuffix("\n").split("\n"), lexer_of_language(language))
    first = (token.map or [0])[0] + (token.type == "fence")
    numbers = [environment["line_of"](first + at) for at in range(len(lines))]
    return numbered(lines, numbers, "code", environment["line_of"]((token.map or [0])[0]))


def _image(renderer: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    """A picture elsewhere is shown as its address: nothing is loaded from there."""
    token = tokens[index]
    source = str(token.attrGet("src") or "")
    alt = renderer.renderInlineAsText(token.children or [], options, environment)
    if is_external(source):
        link = f'<a href="{escape(source)}" target="_blank">{escape(source)}</a>'
        return f'<span class="remote">{escape(alt)} {link}</span>'
    return f'<img src="{escape(source)}" alt="{escape(alt)}" title="{escape(str(token.attrGet("title") or ""))}">'


def _wikilink(state: StateInline, silent: bool) -> bool:
    """Read a wikilink that is in the index. Two brackets may mean anything else, so all others stay text."""
    match = _WIKILINK.match(state.src, state.pos)
    link = state.env["wikilinks"].get(match[1].strip()) if match else None
    if match is None or link is None:
        return False
    if not silent:
        uri = uri_of(link)
        if uri is None:
            state.push("html_inline", "", 0).content = f'<span class="unresolved" title="{escape(why_nowhere(link))}">'
        else:
            state.push("link_open", "a", 1).attrs = {"href": uri}
        state.push("text", "", 0).content = (match[2] or match[1]).strip()
        if uri is None:
            state.push("html_inline", "", 0).content = "</span>"
        else:
            state.push("link_close", "a", -1)
    state.pos = match.end()
    return True


_parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_parser.inline.ruler.before("link", "wikilink", _wikilink)
_parser.add_render_rule("fence", _fence)
_parser.add_render_rule("code_block", _fence)
_parser.add_render_rule("image", _image)
