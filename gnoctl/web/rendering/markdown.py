"""Render Markdown, with the line of the source on each block. The result is not safe yet: `sanitising` makes it
safe."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Literal, get_args

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

from gnoctl.web.rendering.code import coloured, lexer_of_language, numbered
from gnoctl.web.rendering.links import PageLinks, is_external, is_picture, uri_of, why_nowhere
from gnoctl.web.rendering.sanitising import Inserts
from gnoctl.web.rendering.vault_syntax import vault_syntax

# A longer line may take seconds: each bracket may begin a link, and the parser searches its end.
_MAX_LINE = 50_000
_MAX_BRACKETS = 8_000

_ALIGNMENT = re.compile(r"text-align:(\w+)")
_SLUG = re.compile(r"[^\w\- ]")
_WIKILINK = re.compile(r"!?\[\[([^\[\]|\n]{1,1000}?)(?:\\?\|([^\[\]\n]{0,1000}))?\]\]")
_HTML_IMAGE = re.compile(
    r"<img\s[^<>]{0,2000}?\bsrc\s*=\s*[\"']?\s*(?P<address>(?:https?:)?//[^\s\"'<>]+)[^<>]*>", re.IGNORECASE
)
_ALT = re.compile(r"\balt\s*=\s*(?P<mark>[\"'])(?P<alt>[^<>\"']*)(?P=mark)", re.IGNORECASE)
_NOT_LOADED = "Picture of the web, not loaded"
_OF_A_TOOL = re.compile(r"(?:tool|output)\b")
_SIZE = re.compile(r"(?P<width>\d{1,4})(?:x(?P<height>\d{1,4}))?")
# Captions for code that another program would draw or answer. The page shows the source.
_DRAWN = {
    "mermaid": "Mermaid diagram, as its source",
    "dataview": "Dataview query, which Obsidian answers",
    "dataviewjs": "Dataview script, which is not run",
    "query": "Search, which Obsidian answers",
    "tasks": "Tasks query, which Obsidian answers",
}

_dollars = math_inline_dollar(allow_space=False, allow_digits=False, allow_double=True)
Syntax = Literal["notes", "plain", "conversation"]
"""Notes may use the syntax of note-taking programs. In conversations, HTML is text, and calls of tools are folded."""
LineOf = Callable[[int], int]
"""Maps a line of the rendered text, from 0, to the line of the source."""


def render(text: str, line_of: LineOf, links: PageLinks, inserts: Inserts, syntax: Syntax = "notes") -> str:
    """Return HTML in which marks of `inserts` represent parts that are already safe."""
    parser = _PARSERS[syntax]
    last = line_of(0)
    environment = {"wikilinks": links.names, "embeds": links.embeds, "inserts": inserts, "docId": last}
    environment["line_of"] = line_of
    tokens = parser.parse(text, environment)
    for number, token in enumerate(tokens):
        # The page searches lines in the order of the blocks, but footnotes are moved to the end.
        if token.map is not None and token.nesting >= 0 and (line := line_of(token.map[0])) >= last:
            token.attrSet("data-line", str(line))
            last = line
        if token.type == "heading_open":
            token.attrSet("id", _slug("".join(child.content for child in tokens[number + 1].children or ())))
        if token.type in ("th_open", "td_open"):
            _align(token)
        if token.type == "inline" and _is_embed(token):
            tokens[number - 1].tag = tokens[number + 1].tag = "div"
        for each in (token, *(token.children or ())):
            if each.type == "link_open":
                _mark(each, links)
            elif each.type.startswith("html_"):
                each.content = _HTML_IMAGE.sub(_not_loaded, each.content)
    return str(parser.renderer.render(tokens, parser.options, environment))


def is_too_much(text: str) -> bool:
    """Return whether a text would take too long."""
    return text.count("[") > _MAX_BRACKETS or max(map(len, text.split("\n"))) > _MAX_LINE


def _is_embed(token: Token) -> bool:
    """Return whether a paragraph has only embedded notes, which are blocks."""
    children = [child for child in token.children or () if child.content.strip(" ")]
    return bool(children) and all(child.type == "embed" for child in children)


def _mark(token: Token, links: PageLinks) -> None:
    """Open external links in a new tab, and say why a link leads nowhere."""
    address = str(token.attrGet("href"))
    known = links.known(address)
    if is_external(address):
        token.attrSet("target", "_blank")
    elif known is not None and known.to is None:
        token.attrSet("class", "unresolved")
        token.attrSet("title", why_nowhere(known))


def _not_loaded(image: re.Match[str]) -> str:
    """Return the note that replaces a picture of the web in HTML. The picture may be in a link."""
    alt = _ALT.search(image[0])
    address = escape(html.unescape(image["address"]))
    return f'<span class="remote" title="{address}">{_NOT_LOADED}: {alt["alt"] if alt else address}</span>'


def _align(token: Token) -> None:
    """Replace the style by a class, because the page's policy refuses inline styles."""
    if match := _ALIGNMENT.search(str(token.attrs.pop("style", ""))):
        token.attrSet("class", match[1])


def _slug(title: str) -> str:
    """Return the anchor of a heading in GitHub's format."""
    return _SLUG.sub("", title.strip().lower()).replace(" ", "-")


def _fence(renderer: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    if language == "math":
        return _math(renderer, tokens, index, options, environment)
    lines = coloured(token.content.removesuffix("\n").split("\n"), lexer_of_language(language))
    block = _numbered(lines, token, environment["line_of"])
    if caption := _DRAWN.get(language.strip("{}").lower()):
        return f"<figure>{block}<figcaption>{caption}</figcaption></figure>"
    return block


def _folded(renderer: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    """Fold the input and the output of a tool."""
    block, label = _fence(renderer, tokens, index, options, environment), tokens[index].info.strip()
    if not _OF_A_TOOL.match(label):
        return block
    return f'<details class="tool"><summary>{escape(label)}</summary>{block}</details>\n'


def _numbered(lines: list[str], token: Token, line_of: LineOf) -> str:
    """Return code with line numbers. In a footnote, which is moved, lines have no numbers."""
    if token.attrGet("data-line") is None or token.map is None:
        return f'<pre class="code"><code>{chr(10).join(lines)}\n</code></pre>\n'
    first = token.map[0] + (token.type == "fence")
    return numbered(lines, [line_of(first + at) for at in range(len(lines))], "code", line_of(token.map[0]))


def _math_inline(state: StateInline, silent: bool) -> bool:
    """Read a formula between dollar signs. At the start of a text, the plugin reads the last character as the previous
    one, so append a character."""
    written = state.src
    state.src = written if state.pos else f"{written}\n"
    try:
        return _dollars(state, silent)
    finally:
        state.src = written


def _math(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    token = tokens[index]
    is_block = token.type != "math_inline"
    line = token.attrGet("data-line")
    shown = environment["inserts"].math(token.content, is_block=is_block)
    return shown if token.type.startswith("math_inline") else f'<p class="center" data-line="{line}">{shown}</p>\n'


def _image(renderer: Any, tokens: Sequence[Token], index: int, options: Any, environment: Any) -> str:
    """Show an external picture as its address: the page loads nothing from there."""
    token = tokens[index]
    source = str(token.attrGet("src") or "")
    alt = renderer.renderInlineAsText(token.children or [], options, environment)
    if is_external(source):
        link = f'<a href="{escape(source)}" target="_blank">{escape(source)}</a>'
        return f'<span class="remote">{_NOT_LOADED}: {escape(alt)} {link}</span>'
    return _picture(source, alt, str(token.attrGet("title") or ""))


def _picture(source: str, alt: str, title: str = "") -> str:
    """Return a picture of the collection. As in Obsidian, the last part of `alt` may be its size: `mast|100`."""
    name, _, last = alt.rpartition("|")
    match = _SIZE.fullmatch(last.strip())
    sides = "" if match is None else "".join(f' {side}="{value}"' for side, value in match.groupdict().items() if value)
    alt = alt if match is None else name
    more = f' title="{escape(title)}"' if title else ""
    return f'<img src="{escape(source)}" alt="{escape(alt)}"{more} loading="lazy"{sides}>'


def _wikilink(state: StateInline, silent: bool) -> bool:
    """Read a wikilink to a document in the index, or to a picture. Other double brackets may mean anything, so they
    stay text."""
    match = _WIKILINK.match(state.src, state.pos)
    if match is None:
        return False
    target, shown = match[1].strip(), (match[2] or "").strip()
    link = state.env["wikilinks"].get(target)
    is_embed = match[0].startswith("!")
    if is_embed and is_picture(target):
        if not silent:
            name = target.partition("#")[0].rpartition("/")[2]
            alt = f"{name}|{shown}" if _SIZE.fullmatch(shown) else shown or name
            state.push("html_inline", "", 0).content = _picture(f"[[{target}]]", alt)
    elif link is None:
        return False
    elif is_embed and target in state.env["embeds"]:
        if not silent:
            embed = state.push("embed", "", 0)
            embed.content, embed.attrs = (
                state.env["embeds"][target],
                {"href": uri_of(link) or "", "shown": shown or target},
            )
    elif not silent:
        _push_link(state, uri_of(link), why_nowhere(link), shown or target)
    state.pos = match.end()
    return True


def _push_link(state: StateInline, uri: str | None, why: str, shown: str) -> None:
    if uri is None:
        state.push("span_open", "span", 1).attrs = {"class": "unresolved", "title": why}
        state.push("text", "", 0).content = shown
        state.push("span_close", "span", -1)
    else:
        state.push("link_open", "a", 1).attrs = {"href": uri}
        state.push("text", "", 0).content = shown
        state.push("link_close", "a", -1)


def _embed(_renderer: Any, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    """Show an embedded note, or a link to it if the part would have too many."""
    token, inserts = tokens[index], environment["inserts"]
    if inserts.has_room_for(token.content):
        return str(inserts.put(token.content))
    return f'<a href="{escape(str(token.attrs["href"]))}">{escape(str(token.attrs["shown"]))}</a>'


def _made(syntax: Syntax) -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": syntax != "conversation"}).enable(["table", "strikethrough"])
    made.use(footnote_plugin).use(deflist_plugin).use(gfm_autolink_plugin)
    if syntax == "notes":
        made.use(dollarmath_plugin, allow_labels=False)
        made.inline.ruler.at("math_inline", _math_inline)
        made.use(vault_syntax)
    made.inline.ruler.before("link", "wikilink", _wikilink)
    for name in ("math_inline", "math_inline_double", "math_block"):
        made.add_render_rule(name, _math)
    for name in ("fence", "code_block"):
        made.add_render_rule(name, _folded if syntax == "conversation" else _fence)
    made.add_render_rule("image", _image)
    made.add_render_rule("embed", _embed)
    return made


_PARSERS: dict[Syntax, MarkdownIt] = {syntax: _made(syntax) for syntax in get_args(Syntax)}
