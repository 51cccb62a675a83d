"""Documents as HTML: their content, their line numbers, and what remains of a hostile document."""

from __future__ import annotations

import itertools
import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gnoctl.web.rendering import parts
from gnoctl.web.rendering.document import Rendered, Rendering
from gnoctl.web.rendering.links import PageLinks
from gnod.protocol.base import Location
from gnod.protocol.documents import DocumentText, LocatedLine
from gnod.protocol.links import DocumentLink
from tests.client import samples

LINKS = PageLinks("notes", "sub/a.md")


def document(text: str, path: str = "sub/a.md", converter: str = "markdown/1", **more: object) -> DocumentText:
    return samples.document(text, uri=f"gno://notes/{path}", path=path, converter=converter, **more)


def render(document: DocumentText, line: int) -> Rendered:
    return Rendering(document).part_at(line)


def shown(text: str, path: str = "sub/a.md", converter: str = "markdown/1", **more: object) -> Rendered:
    return render(document(text, path, converter, **more), 1)


class Loads(HTMLParser):
    """Collects what a browser would run, load or obey."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            local = re.match(
                r"(/doc/notes/|/api/picture\?ref=gno%3A%2F%2Fnotes%2F|/search\?(?:tag|q)=|#doc-)", value or ""
            )
            outside = tag == "a" and name == "href" and re.match(r"(?i)(https?://|mailto:)", value or "")
            if name.startswith("on") or name in ("style", "srcset", "action", "formaction", "name", "xlink:href"):
                self.found.append(name)
            if name in ("href", "src") and not (local or outside):
                self.found.append(f"{name}={value}")
            if name == "id" and not (value or "").startswith("doc-"):
                self.found.append(f"id={value}")


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
    "<iframe src='https://evil.example'></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='https://evil.example/x.swf'></object><embed src='https://evil.example'>",
    "<link rel=stylesheet href='https://evil.example/x.css'><style>@import 'https://evil.example'</style>",
    "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<form action='https://evil.example'><input name=a autofocus onfocus=alert(1)></form>",
    "<button formaction=https://evil.example>b</button>",
    "<a href='java\nscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a> <a href=' javascript:alert(1)'>x</a>",
    "<a href='data:text/html,<script>alert(1)</script>'>x</a> <a href='vbscript:x'>x</a>",
    "<a href='file:///etc/passwd'>x</a>",
    "<a href='//evil.example'>x</a> <a href='/\\evil.example'>x</a> <a href='\\\\evil.example'>x</a>",
    "<a href='/api/rpc/memory.forget'>x</a> <a href='/?token=x'>x</a> <a href='../../../x.md'>x</a>",
    "[x](javascript:alert(1)) [x](<java\tscript:alert(1)>) [x](data:text/html,x) ![x](data:image/svg+xml,x)",
    "[x](JaVaScRiPt:alert(1)) [x][r]\n\n[r]: javascript:alert(1)",
    "![x](https://evil.example/pixel.png) ![x](//evil.example/p.png) ![x](HTTPS://evil.example/p.png 'y')",
    "<img src='https://evil.example/p.png' srcset='https://evil.example/q.png 2x'><video poster=//evil.example src=x>",
    "<picture><source srcset='https://evil.example/p.png'><img src='/etc/passwd'></picture><audio src=x autoplay>",
    "<div style='position:fixed;inset:0;background:url(https://evil.example)' class='toast modal' id=app>x</div>",
    "<p id=search name=location>x</p><a name=cookie id=__proto__>x</a>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<textarea></textarea><img src=x onerror=alert(1)><title></title><template><script>alert(1)</script></template>",
    "```html onload=alert(1)\n</code></pre><script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "| <script>alert(1)</script> | <img src=x onerror=alert(1)> |\n| - | - |\n| a | b |",
    '# <script>alert(1)</script> " onload=alert(1) x="',
    "---\ntitle: </code><script>alert(1)</script>\n---\ntext",
    "<details open ontoggle=alert(1)><summary onclick=alert(1)>x</summary></details>",
    "<a href=https://example.org ping=https://evil.example target=_top download>x</a>",
    "<!--><img src=x onerror=alert(1)>-->",
]
FORBIDDEN = {"script", "style", "svg", "iframe", "object", "embed", "form", "input", "button", "link", "meta", "base"}


def check(html: str) -> None:
    loads = Loads(html)
    assert not loads.found, html
    assert not loads.tags & FORBIDDEN, html


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(("path", "converter"), [("sub/a.md", "markdown/1"), ("a.csv", "table/2"), ("a.py", "code/2")])
def test_nothing_of_a_hostile_document_runs_or_loads(text: str, path: str, converter: str) -> None:
    html = shown(f"{text}\n", path, converter).html
    check(html)
    assert not Loads(html).tags & {"video", "audio", "source", "template", "math"}, html


@given(st.text(alphabet="<>\"'=/ \n`#[]()!|-&;:\\aosrcxhefjv&#0\t", max_size=120))
def test_no_text_makes_a_page_load_something(text: str) -> None:
    check(shown(f"{text}\n").html)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        *(
            piece * (40_000 // len(piece))
            for piece in ("[", "![", "*a_ ", "> ", "- ", "<a ", "a](", "&", "\\[", "<!--")
        ),
        "`" * 39_000 + "a",
        "|" * 40_000 + "\n" + "|-" * 20_000,
        "".join(f"[{n}]: /x\n" for n in range(3000)) + "[1] " * 1000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    shown(f"{text}\n")
    assert time.process_time() - started < 20


def link(target: str, to: str | None = None, **more: object) -> DocumentLink:
    state = "resolved" if to else "ambiguous" if more.get("candidates") else "unresolved"
    fields: dict[str, object] = {"uri": "gno://notes/sub/a.md", "title": "A", "line": 1, "kind": "wikilink"}
    return DocumentLink(**fields | {"target": target, "to": to, "state": state} | more)  # type: ignore[arg-type]


def test_links_lead_to_what_the_index_resolves_them_to() -> None:
    text = (
        "[[Boat|the boat]] ![[Boat#The mast]] [[Gone]] [[Twice]] [x](guide%20book) [y](other.md) [z](gone.md)\n\n"
        "`[[Boat]]` [[1, 2]] \\[[Boat]]\n\n| a |\n| - |\n| [[Boat\\|in a table]] |\n"
    )
    boat = "gno://notes/plans/Boat%20%26%20oar.md"
    links = [
        link("Boat", boat),
        link("Boat#The mast", boat, fragment="The mast", to_line=7, kind="embed"),
        link("Gone"),
        link("Twice", candidates=["gno://notes/<b>.md", "gno://notes/c.md"]),
        link("gone.md", kind="markdown"),
        link("guide%20book", "gno://notes/sub/guide%20book.md", kind="markdown"),
    ]
    html = Rendering(document(text)).part_at(1, links).html
    address = "/doc/notes/plans/Boat%20%26%20oar.md"
    assert f'<a href="{address}" rel="noopener noreferrer">the boat</a>' in html
    assert f'<a href="{address}#L7" rel="noopener noreferrer">Boat#The mast</a>' in html
    assert '<span class="unresolved" title="no document in the index has this name">Gone</span>' in html
    assert 'title="ambiguous: notes/&lt;b&gt;.md or notes/c.md">Twice</span>' in html
    assert '<a href="/doc/notes/sub/guide%20book.md"' in html
    assert '<a href="/doc/notes/sub/other.md" rel' in html
    assert '<a href="/doc/notes/sub/gone.md" class="unresolved" title="no document in the index has this name"' in html
    assert "<code>[[Boat]]</code> [[1, 2]] [[Boat]]" in html
    assert f'<td><a href="{address}" rel="noopener noreferrer">in a table</a></td>' in html
    assert not Loads(html).found


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_wikilink_is_text(text: str) -> None:
    for each in (link(text), link(text, f"gno://notes/{text}"), link(text, fragment=text, to="gno://notes/b.md")):
        check(Rendering(document(f"[[{text}]] [[{text}|{text}]]\n")).part_at(1, [each]).html)


def test_blocks_have_the_lines_of_the_file() -> None:
    text = "---\na: 1\n---\n# One\n\ntext\n\n- x\n- y\n\n```python\nx = 1\n```\n"
    found = shown(text, line_map=[(6, 3)])
    blocks = re.findall(r'<(?:h1|p|li|pre class="code") [^>]*?data-line="(\d+)"', found.html)
    assert [int(line) for line in blocks] == [1, 4, 9, 11, 12, 14]
    assert '<span class="line" data-line="15"><span class="n">x</span>' in found.html  # behind the fence
    assert [(entry.level, entry.title, entry.line) for entry in found.outline] == [(1, "One", 4)]


def test_the_outline_has_headings_as_written() -> None:
    found = shown("# Learn C#\n\n## A B ##\n\n## ##\n\n## #boats #\n")
    assert [entry.title for entry in found.outline] == ["Learn C#", "A B", "", "#boats"]


def test_code_has_a_line_for_each_line() -> None:
    found = shown('import os\n\ndef f():\n    """<b>\n    """\n', "x/a.py", "code/2", line_map=[(3, 2)])
    assert re.findall(r'<span class="line" data-line="(\d+)"', found.html) == ["1", "2", "5", "6", "7"]
    assert '<span class="kn">import</span>' in found.html
    assert "&lt;b&gt;" in found.html
    assert found.kind == "code"
    assert shown("x\n", "LICENSE", "text/1").kind == "text"


def test_a_table_keeps_its_head() -> None:
    text = "| a | b\\|c |\n| --- | --- |\n" + "".join(f"| {n} | <i> |\n" for n in range(2000))
    first = shown(text, "a.csv", "table/2")
    assert '<tr data-line="1"><th>a</th><th>b|c</th></tr>' in first.html
    assert '<tr data-line="3"><td>0</td><td>&lt;i&gt;</td></tr>' in first.html
    second = render(document(text, "a.csv", "table/2"), first.end + 1)
    assert "<tr><th>a</th>" in second.html
    assert second.start == first.end + 1
    sheet = render(document(text, "a.xlsx", "xlsx/1"), 1500)
    assert "<th>a</th>" in sheet.html
    assert f'<tr data-line="{sheet.start}">' in sheet.html


def test_pages_and_slides_are_named() -> None:
    starts = [(1, Location(page=1, label="p1")), (3, Location(page=4, label="p4"))]
    located = [LocatedLine(line=line, location=where) for line, where in starts]
    found = shown("one\n\nfour\n", "a.pdf", "pdf/3", locations=located)
    assert (found.kind, found.pages, found.page_lines) == ("pages", 4, [1, 3, 3, 3])
    assert '<p class="place" data-line="3">p4</p>' in found.html
    slides = [LocatedLine(line=1, location=Location(slide=1, label="slide 1"))]
    assert shown("one\n", "a.pptx", "pptx/1", locations=slides).outline[0].title == "slide 1"


def test_long_texts_come_in_parts_that_fit_together() -> None:
    block = "```python\n" + "x = 1\n" * 1500 + "```\n\ntext\n\n"
    text = "".join(f"paragraph {n}\n\n" for n in range(300)) + block
    lines = text.count("\n")
    whole = Rendering(document(text))
    starts = [line for line, _ in whole.part_at(1).parts]
    seen = [whole.part_at(line, alone=True) for line in starts]
    assert [part.start for part in seen] == starts
    assert starts[0] == 1
    assert seen[-1].end == lines
    assert all(one.end + 1 == other.start for one, other in itertools.pairwise(seen))
    assert all(part.end - part.start < 2 * parts.PART_LINES + 1 for part in seen)
    assert not any(part.parts for part in seen)
    inside = render(document(text), 1500)  # of the fence
    assert inside.start <= 1500 <= inside.end
    assert '<pre class="code"' in inside.html
    assert whole.part_at(10**6).end == lines


@settings(max_examples=30)
@given(st.lists(st.sampled_from(["", "text", "```", "| a |", "|---|", "# h", "    x", "y" * 30_000]), max_size=60))
def test_parts_cover_all_lines(blocks: list[str]) -> None:
    lines = blocks * 30
    for markdown in (True, False):
        found = list(parts.split(lines, markdown=markdown))
        assert [part.start for part in found] == [0, *(part.end for part in found[:-1])]
        assert found[-1].end == len(lines)


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("b.md", "/doc/notes/sub/b.md"),
        ("../b.md#Some%20Part", "/doc/notes/b.md#doc-Some%20Part"),
        ("/b.md", "/doc/notes/b.md"),
        ("b%20c.md?raw=1", "/doc/notes/sub/b%20c.md"),
        ("gno://papers/x.pdf#page=3", "/doc/papers/x.pdf#doc-page%3D3"),
        ("#top", "#doc-top"),
        ("HTTPS://example.org/a?b#c", "HTTPS://example.org/a?b#c"),
        ("mailto:a@example.org", "mailto:a@example.org"),
        ("../../b.md", None),
        ("..", None),
        ("%2e%2e/%2e%2e/b.md", None),
        ("gno://NOT/x", None),
        ("gno:evil", None),
        ("//example.org", None),
        ("c:\\x", None),
        ("", None),
    ],
)
def test_links_lead_to_documents_or_out(link: str, address: str | None) -> None:
    assert LINKS.address(link) == address


def test_a_conversation_shows_who_spoke_and_folds_what_tools_did() -> None:
    """HTML in a message is shown as text: it cannot look like another message."""
    text = (
        "# Pump\n\n## Mara, 2026-03-04 10:22\n\n<h2>user, now</h2> <details open>\n\n```python\nx = 1\n```\n\n"
        "## assistant, 2026-03-04 10:23\n\n```tool Bash\nls <b>\n```\n\n````output\n```\na.md\n````\n"
    )
    found = shown(text, "a.jsonl", "claude-code/1", mime="application/x-conversation").html
    check(found)
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", found) == ["Mara, 2026-03-04 10:22", "assistant, 2026-03-04 10:23"]
    assert 'id="doc-mara-2026-03-04-1022"' in found
    assert re.findall(r'<details class="tool">\s*<summary>(.*?)</summary>', found) == ["tool Bash", "output"]
    assert found.count("<details") == 2
    assert '<pre class="code"' in found.partition("Mara")[2].partition("<details")[0]
    assert found.count("<details") - shown(text, "a.md").html.count("<details") == 1  # there, HTML is HTML
