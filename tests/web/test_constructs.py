"""Constructs of note-taking programs (Obsidian, GitHub, Logseq), and how the page shows them."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from gnoctl.web.rendering.document import Rendering
from gnoctl.web.rendering.embeds import EmbeddedNote
from gnod.protocol.documents import DocumentEntry
from tests.web.test_rendering import check, document, link

ROPE = "gno://notes/sub/rope.md"
BASE = "gno://notes/sub/all.base"
NOTE = "# Rope\n\nOf hemp.\n\n## Knots\n\n- bowline ^bow\n  - its use\n- reef\n\n## Care\n\nDry.\n"
LINKS = [
    link("Rope", ROPE),
    link("Rope#Knots", ROPE, fragment="Knots", to_line=5),
    link("Rope#^bow", ROPE, fragment="^bow", to_line=7),
    link("Gone"),
    link("Harbour/Pier", "gno://notes/Harbour/Pier.md", kind="property"),
]
EMBEDS = [
    link("Rope", ROPE, kind="embed"),
    link("Rope#Knots", ROPE, kind="embed", fragment="Knots", to_line=5),
    link("Rope#^bow", ROPE, kind="embed", fragment="^bow", to_line=7),
    link("all.base", BASE, kind="embed"),
]
VIEW = """filters:
  and:
    - file.hasTag("boat")
views:
  - type: table
    name: Boats
    order: [file.name, year]
"""
BOAT = "gno://notes/Albatros.md"
LISTED = [
    DocumentEntry(
        docid="#1",
        uri=BOAT,
        collection="notes",
        path="Albatros.md",
        source="/x",
        title="A",
        mime="text/markdown",
        size=1,
        modified="2026-01-01T00:00:00Z",
        tags=["boat"],
        metadata={"year": 1982},
    )
]
PICTURE = r'<img src="/api/picture\?ref=gno%3A%2F%2Fnotes%2Fsub%2Fa.md&amp;target='
TO_ROPE = r'<a href="/doc/notes/sub/rope\.md'
MATH = r'<math display="inline"><mrow><msup><mi>a</mi><mn>2</mn></msup></mrow></math>'


class Construct(NamedTuple):
    """`shown`: a pattern that the HTML matches; `hidden`: a text that the page does not show."""

    name: str
    text: str
    shown: str
    hidden: str = "\0"


OBSIDIAN = [
    Construct("link with another text", "[[Rope|line]]", f'{TO_ROPE}"[^>]*>line</a>', "[["),
    Construct("link to a heading", "[[Rope#Knots]]", f'{TO_ROPE}#L5"'),
    Construct("link to a block", "[[Rope#^bow]]", f'{TO_ROPE}#L7"'),
    Construct("link to nothing", "[[Gone]]", '<span class="unresolved" title="no document[^>]*>Gone</span>'),
    Construct("link in a table", "| a |\n| - |\n| [[Rope\\|line]] |", f'<td>{TO_ROPE}"[^>]*>line</a></td>'),
    Construct("embedded picture", "![[oar.png]]", f'{PICTURE}oar.png&amp;kind=embed" alt="oar.png" loading="lazy">'),
    Construct("picture with a width", "![[oar.png|100]]", f'{PICTURE}oar.png&amp;kind=embed"[^>]* width="100">'),
    Construct("picture with both sides", "![[oar.png|90x50]]", 'width="90" height="50">'),
    Construct("picture with a selector", "![[send.svg#icon]]", f"{PICTURE}send.svg&amp;kind=embed"),
    Construct("picture of Markdown with a width", "![oar|100](oar.png)", 'alt="oar" loading="lazy" width="100">'),
    Construct("picture with a space", "![x](my%20oar.png)", f"{PICTURE}my%2520oar.png&amp;kind=markdown"),
    Construct("embedded note", "![[Rope]]", '<div class="embed".*rope.md">Rope</a>.*<h1>Rope</h1>.*Dry'),
    Construct("embedded section", "![[Rope#Knots]]", "Rope › Knots</a>.*<h2>Knots</h2>.*reef", "Dry"),
    Construct("embedded block", "![[Rope#^bow]]", '<div class="embed".*bowline.*its use', "reef"),
    Construct("embedded base", "![[all.base]]", 'Boats <span>1</span>.*Albatros.md">Albatros</a></td><td>1982</td>'),
    Construct("tag", "a #boat", '<a href="/search\\?tag=boat"[^>]*>#boat</a>'),
    Construct("tag below another", "#voyage/iceland", '<a href="/search\\?tag=voyage%2Ficeland"'),
    Construct("number that is not a tag", "issue #123", "<p[^>]*>issue #123</p>"),
    Construct("highlight", "==with **care**==", "<mark>with <strong>care</strong></mark>", "=="),
    Construct("comparison that is not a highlight", "a == b and c == d", "a == b and c == d"),
    Construct("comment in a line", "a %%secret%% b", "a  b", "secret"),
    Construct("comment of several blocks", "%%\nsecret\n\nmore\n%%\n\nshown", ">shown<", "secret"),
    Construct("callout with a title", "> [!tip] Of *knots*\n> Text", 'class="callout tip".*title"[^>]*>Of <em>knots'),
    Construct("callout without a title", "> [!danger]\n> Text", '<p class="callout-title"[^>]*>Danger</p><p[^>]*>Text'),
    Construct("folded callout", "> [!faq]- Why\n> Text", '<details class="callout warning"[^>]*>\\s*<summary[^>]*>Why'),
    Construct("open callout", "> [!info]+ Why\n> Text", '<details class="callout note" open=""'),
    Construct("callout in a callout", "> [!note]\n> > [!bug] B\n> > x", "callout note.*callout danger.*>B</p>"),
    Construct("callout with a hard space", "> [!tip]\u00a0Of knots\n> x", "callout tip.*>Of knots</p>"),
    Construct("callout of another kind", "> [!my-kind]\n> x", 'callout note"[^>]*>.*>My kind</p>'),
    Construct("task", "- [ ] caulk", '<li class="task"[^>]*><span class="task-box">☐</span> caulk', "[ ]"),
    Construct("done task", "- [x] caulk", '<li class="task done"[^>]*><span class="task-box">☑</span> caulk'),
    Construct("task of another state", "- [/] caulk\n- [-] tar", "◪.*☒"),
    Construct(
        "properties",
        "---\nyear: 1982\n---\n",
        '<details class="properties".*<th scope="row">year</th>.*q=year%3A%221982%22',
    ),
    Construct(
        "property with a link",
        "---\nport: '[[Harbour/Pier]]'\n---\n",
        '<a href="/doc/notes/Harbour/Pier.md"[^>]*>Pier</a>',
    ),
    Construct("property with a tag", "---\ntags: [boat]\n---\n", 'href="/search\\?tag=boat"'),
    Construct("name of a block", "Text ^bow", ">Text<", "^bow"),
    Construct("formula", "So $a^2$ holds", MATH),
    Construct("formula before a digit", "$a^2$ is 5", MATH),
    Construct("formula in a block", "$$\n\\frac{a}{b}\n$$", '<math display="block">.*<mfrac>'),
    Construct("money that is not a formula", "from $5 to $6 or $7-$8", "from \\$5 to \\$6 or \\$7-\\$8"),
    Construct("footnote", "x[^1]\n\n[^1]: Note", 'href="#doc-fn[^"]*".*class="footnotes".*Note'),
    Construct("footnote in a line", "x ^[Note]", 'class="footnotes".*Note'),
    Construct("diagram", "```mermaid\ngraph TD\n```", "graph TD.*<figcaption>Mermaid"),
    Construct("query of Dataview", "```dataview\nLIST\n```", "LIST.*<figcaption>Dataview"),
    Construct("field of Dataview", "due:: 2026-05-04", '<span class="property">due</span> 2026-05-04', "::"),
    Construct("field in brackets", "a [due:: May] b", '<span class="property">due</span> May b'),
]
GITHUB = [
    Construct("alert", "> [!WARNING]\n> Wet", 'class="callout warning".*>Warning</p><p[^>]*>Wet'),
    Construct(
        "bare address",
        "see https://x.org/a_b.",
        '<a href="https://x.org/a_b" target="_blank"[^>]*>https://x.org/a_b</a>\\.',
    ),
    Construct("address without a scheme", "www.x.org", '<a href="http://www.x.org"'),
    Construct("mail address", "me@x.org", '<a href="mailto:me@x.org"'),
    Construct("strikethrough", "~~old~~", "<s>old</s>"),
    Construct("aligned column", "| a |\n| -: |\n| 1 |", '<td class="right">1</td>'),
    Construct(
        "details", "<details><summary>S</summary>\n\n**x**\n\n</details>", "<summary>S</summary>.*<strong>x</strong>"
    ),
    Construct(
        "HTML picture of the repository", '<img src="docs/a.png" width="90">', f'{PICTURE}docs%2Fa.png[^>]*width="90"'
    ),
    Construct(
        "picture of the web", "![logo](https://x.org/a.png)", 'not loaded: logo <a href="https://x.org/a.png"', "<img"
    ),
    Construct(
        "badge in a link",
        '<a href="https://x.org"><img src="https://x.org/b.svg" alt="build"></a>',
        '<a href="https://x.org"[^>]*><span class="remote" title="https://x.org/b.svg">[^<]*not loaded: build',
        "<img",
    ),
    Construct("anchor of a heading", "## Get Started!", 'id="doc-get-started"'),
    Construct("fenced formula", "```math\na^2\n```", '<math display="block">'),
    Construct("keys", "<kbd>Esc</kbd> H<sub>2</sub>O", "<kbd>Esc</kbd> H<sub>2</sub>O"),
    Construct("emoji by name, as it is written", ":anchor:", ">:anchor:<"),
]
LOGSEQ = [
    Construct("TODO", "- TODO caulk", '<li class="task"[^>]*><span class="task-box">☐</span> caulk', "TODO"),
    Construct("DOING", "- DOING caulk", "◪</span> caulk"),
    Construct("DONE", "- DONE caulk", '<li class="task done"[^>]*><span class="task-box">☑'),
    Construct("id of a block", "- a\n  id:: 64b5c0a0-1234-4567-89ab-0123456789ab", "<li[^>]*>a", "64b5c0a0"),
    Construct(
        "property of a page",
        "type:: [[Rope]]\nyear:: 1982",
        'type</span> <a href="/doc/notes/sub/rope.md".*year</span> 1982',
    ),
    Construct(
        "picture of the assets",
        "![o](../assets/o.png){:height 90, :width 50}",
        f"{PICTURE}..%2Fassets%2Fo.png",
        ":height",
    ),
    Construct("highlight of Logseq", "^^care^^", "<mark>care</mark>"),
    Construct("tag of two words", "#[[two words]]", 'tag=two%20words"[^>]*>#\\[\\[two words'),
    Construct("note", "#+BEGIN_NOTE\nWet\n#+END_NOTE", 'class="callout note".*<p[^>]*>Wet</p>', "BEGIN"),
    Construct("quote", "#+BEGIN_QUOTE\nWet\n#+END_QUOTE", "<blockquote[^>]*>\\s*<p[^>]*>Wet</p>", "BEGIN"),
    Construct("macro", "{{query (todo now)}}", '<span class="macro">\\{\\{query'),
    Construct("list that is indented by tabs", "- a\n\t- b", "<li[^>]*>a\\s*<ul[^>]*>\\s*<li[^>]*>b"),
    Construct("definition", "Mast\n: holds the sail", "<dt[^>]*>Mast</dt>\\s*<dd[^>]*>holds"),
    Construct(
        "block that is referred to, by its id",
        "((64b5c0a0-1234-4567-89ab-0123456789ab))",
        '<span class="macro">block 64b5c0a0</span>',
    ),
]
TABLE = [*OBSIDIAN, *GITHUB, *LOGSEQ]
METADATA = {"year": {"year": 1982}, "port": {"port": "Pier"}, "tags": {"tags": ["boat"]}}


def html_of(text: str) -> str:
    metadata = METADATA.get(text[4:].partition(":")[0], {}) if text.startswith("---") else {}
    note = document(NOTE, "sub/rope.md", title="Rope")
    base = document(VIEW, "sub/all.base", "text/1")
    embeds = {each.target: EmbeddedNote(each, base if each.to == BASE else note, listed=LISTED) for each in EMBEDS}
    return Rendering(document(f"{text}\n", metadata=metadata)).part_at(1, [*LINKS, *EMBEDS], embeds).html


@pytest.mark.parametrize("construct", TABLE, ids=lambda each: each.name)
def test_a_construct_is_shown_as_its_program_does(construct: Construct) -> None:
    html = html_of(construct.text)
    assert re.search(construct.shown, html, re.DOTALL), html
    assert construct.hidden not in html
    check(html)
