"""Markups, subtitles, calendars, contacts and XML become Markdown line by line; other lines become empty ones."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.formats import Converted, convert
from gnod.ingest.prepare import prepare
from gnod.store.tables.records import PreparedDocument
from gnod.types import source_line

RST = r"""
.. _the-target:          |
.. highlight:: none      |
.. |name| replace:: gnod |
                         |
=========                |
 A title                 | # A title
=========                |
                         |
:author: Mara            | author: Mara
:orphan:                 |
                         |
Part                     | ## Part
====                     |
                         |
See :ref:`the part <x>`. | See the part.
``a_`` of :py:func:`~m.f`| `a_` of f
and `a site <http://x>`_ | and [a site](http://x)
by |name|, link_.        | by gnod, link.
                         |
.. note:: Read this.     | **Note:** Read this.
   It is text.           | It is text.
                         |
   - so is this          | - so is this
                         |
.. toctree::             |
   :maxdepth: 2          |
                         |
   intro                 |
                         |
.. a comment             |
   of two lines          |
                         |
.. code-block:: python   |
   :linenos:             |
                         |
   # not a heading       |     # not a heading
     x = ``1``           |       x = ``1``
                         |
Like this::              | Like this:
                         |
  # neither :ref:`this`  |     # neither :ref:`this`
                         |
.. image:: a.png         |
   :alt: The lake        | The lake
                         |
.. figure:: b.png        |
   :alt: The boat        | The boat
                         |
   Its caption           | Its caption
                         |
=====  =====             |
left   right             | left   right
=====  =====             |
                         |
.. [1] A footnote        | [1] A footnote
.. option:: --fresh      | --fresh
                         |
   What it does          | What it does
                         |
Subpart                  | ### Subpart
-------                  |
>>> print("# one")       |     >>> print("# one")
"""

ASCIIDOC = r"""
// a comment             |
= A title                | # A title
:toc: left               |
:product: gnod           |
                         |
[[anchor]]               |
== Part                  | ## Part
                         |
Use {product} and {more} | Use gnod and {more}
link:http://x[a site^]   | [a site](http://x)
<<anchor,the part>> here | the part here
xref:b.adoc[another] one | another one
image:a.png[The lake] it | The lake it
                         |
[source,python]          |
----                     | ```python
# {product} <<no>>       | # {product} <<no>>
include::a.py[]          |
----                     | ```
                         |
[NOTE]                   | **Note:**
====                     |
Inside                   | Inside
====                     |
                         |
.Costs                   | **Costs**
[cols="1,2"]             |
|===                     |
|a |b                    | |a |b
|===                     |
                         |
////                     |
hidden                   |
////                     |
ifdef::x[]               |
NAME                     | ## NAME
----                     |
- item                   | - item
+                        |
....                     | ```
# plain                  | # plain
....                     | ```
"""

ORG = r"""
#+TITLE: A title         | # A title
#+FILETAGS: :boat:lake:  |
#+AUTHOR: Mara           |
#+OPTIONS: toc:nil       |
* TODO [#A] Part :work:  | ## Part
  :PROPERTIES:           |
  :ID: 7                 |
  :END:                  |
See [[http://x][a site]] | See [a site](http://x)
and [[file:b.org]] =x=   | and file:b.org `x`
** Subpart               | ### Subpart
#+begin_src python       | ```python
# =code=                 | # =code=
#+end_src                | ```
# a comment              |
| a | b |                | | a | b |
|---+---|                |
: fixed                  |     fixed
#+BEGIN_QUOTE            |
quoted                   | quoted
#+END_QUOTE              |
#+begin_comment          |
hidden                   |
#+end_comment            |
#+BEGIN_SRC              |
never closed             | never closed
"""

LATEX = r"""
\documentclass{article}  |
\title{A \emph{title}}   | # A *title*
\newcommand{\x}{hidden}  |
\begin{document}         |
\section*{Part}\label{p} | ## Part
Caf\'e, \"ubung \& 5\%   | Café, übung & 5%
% a comment              |
see \cite{k}~``so'' it   | see  “so” it
\begin{itemize}          |
\item one                | - one
\item[two] more          | - two more
\end{itemize}            |
$a_1 \le b$ and \[ x     | $a_1 \le b$ and \[ x
\] stay \textbf{bold}.   | \] stay **bold**.
\begin{verbatim}         | ```
# \code                  | # \code
\end{verbatim}           | ```
\subsection{Sub          | ### Sub
part}                    | part
a\footnote{b {c}} d      | a (b c) d
\input{other}            |
\href{http://x}{site}    | [site](http://x)
\begin{comment}          |
hidden                   |
\end{comment}            |
\end{document}           |
after                    |
"""
CASES = {"a.rst": RST, "a.adoc": ASCIIDOC, "a.org": ORG, "a.tex": LATEX}
every_markup = pytest.mark.parametrize("name", CASES)


def sides(case: str) -> tuple[list[str], list[str]]:
    pairs = [(line[:25].rstrip(), line[27:]) for line in case.strip("\n").split("\n")]
    return [left for left, _ in pairs], [right for _, right in pairs]


def translated(text: str, name: str) -> list[str]:
    return convert(text.encode(), name, max_characters=10_000_000).markdown.split("\n")


@every_markup
def test_each_line_stays_one_line(name: str) -> None:
    source, expected = sides(CASES[name])
    assert translated("\n".join(source), name) == expected


@every_markup
def test_hits_name_lines_of_the_file(name: str) -> None:
    source, _ = sides(CASES[name])
    text = "\r\n".join([*source, "", "", "", "", "zqx45", ""])
    if name == "a.tex":
        text = text.replace("\\end{document}", "")
    converted = convert(text.encode(), name, max_characters=1_000_000)
    document: PreparedDocument = prepare(converted, relative_path=name, source_hash="", stat=None)
    line = document.markdown[: document.markdown.index("zqx45")].count("\n") + 1
    assert source_line(document.line_map, line) == len(source) + 5
    assert document.title in ("A title", "A *title*")
    assert any(chunk.heading.startswith(f"{document.title}") for chunk in document.chunks)


def test_metadata() -> None:
    def stated(text: str, name: str) -> dict[str, object]:
        return dict(convert(text.encode(), name, max_characters=999).metadata)

    assert stated("#+FILETAGS: :a:b:\n#+DATE: <2025-02-03 Mon>\nx", "a.org") == {
        "tags": ["a", "b"],
        "date": "2025-02-03",
    }
    drawer = ':PROPERTIES:\n:ID: 7\n:ROAM_ALIASES: "A b" c\n:Effort: 3\n:CREATED: [2025-02-03 Mon 9:30]\n:END:\n'
    of_file = {"aliases": ["A b", "c"], "effort": 3, "created": "2025-02-03 9:30"}
    assert stated(f"{drawer}#+OPTIONS: toc:nil\n* A\n", "a.org") == of_file
    assert stated(f"* TODO x :c:d:\n{drawer}", "a.org") == {
        "aliases": ["A b", "c"],
        "effort": [3],
        "created": ["2025-02-03 9:30"],
        "tags": ["c", "d"],
    }
    assert stated("Title\n=====\n\n:Author: Mara\n:Tags: a, b\n:Orphan:\n\nText\n\n:Later: x\n", "a.rst") == {
        "author": "Mara",
        "tags": "a, b",
    }
    assert stated("= T\n:author: Mara\n:revdate: 2025-02-03\n:page-tags: a, b\n:toc:\n\nText\n", "a.adoc") == {
        "author": "Mara",
        "date": "2025-02-03",
        "tags": "a, b",
    }
    assert stated("\\author{Mara \\and Jo}x", "a.tex") == {"author": "Mara Jo"}


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("#+TITLE: Stated\n* One\n", "file.org", "Stated"),
        ("* Lone\n** Part\n", "file.org", "Lone"),
        ("* One\ntext\n* Two\n", "file.org", "file"),
        ("Lone\n====\n\nPart\n----\n\ntext\n", "file.rst", "Lone"),
        (".. comment\n\nLone\n====\n", "file.rst", "Lone"),
        ("One\n===\n\ntext\n\nTwo\n===\n", "file.rst", "file"),
        ("= Stated\n:toc:\n\n== Part\n", "file.adoc", "Stated"),
        ("== Part\n\ntext\n", "file.adoc", "file"),
        ("title:: Stated\n- block\n", "file.md", "Stated"),
        ("---\nTitle: Stated\n---\n# Other\n", "file.md", "Stated"),
        ("intro\n\n## Part\n", "file.md", "file"),
    ],
)
def test_the_title_is_the_stated_one_the_only_first_heading_or_the_name(text: str, name: str, title: str) -> None:
    converted = convert(text.encode(), name, max_characters=999)
    document: PreparedDocument = prepare(converted, relative_path=name, source_hash="", stat=None)
    assert document.title == title


@pytest.mark.slow
@every_markup
@given(choice=st.randoms(use_true_random=False))
def test_no_line_is_lost_however_the_markup_is_broken(name: str, choice: random.Random) -> None:
    source, _ = sides(CASES[name])
    pieces = choice.choices([*source, "", "``", "`a", "::", "  ", "{", "}}", "\\", "$", "[[", "----", "x`_ <y"], k=30)
    text = "\n".join(piece[choice.randrange(3) :] if choice.random() < 0.2 else piece for piece in pieces) + "\nzqx"
    assert len(translated(text, name)) == len(pieces) + 1


def test_a_file_without_prose_stays_as_it_is() -> None:
    assert translated(".. include:: ../README.rst\n", "a.rst") == [".. include:: ../README.rst", ""]


# ------------------------------------------------------------------------------------------- line formats


def converted(text: str, name: str) -> Converted:
    result = convert(text.encode(), name, max_characters=10_000_000)
    assert result.keeps_lines
    assert result.markdown.count("\n") == text.count("\n")
    return result


def lines(text: str, name: str) -> dict[int, str]:
    """Return the lines that are not empty, by their numbers."""
    found = enumerate(converted(text, name).markdown.split("\n"), start=1)
    return {number: line for number, line in found if line.strip()}


def test_subtitles() -> None:
    srt = (
        "1\n00:00:01,000 --> 00:00:04,000\n<i>Hello</i> {\\an8}there,\n# la la #\n\n2\n00:01:05,5 --> 00:01:06,0\n42\n"
    )
    assert lines(srt, "talk.srt") == {3: "Hello there,", 4: "# la la #", 8: "42"}
    assert converted(srt, "talk.srt").markup == "plain"
    cue = "intro\n00:01.000 --> 00:04.000 align:start\n<v Mara>Hello <00:02.000>there\n"
    vtt = f"WEBVTT - Talk\n\nNOTE hidden\nmore\n\n{cue}"
    assert lines(vtt, "talk.vtt") == {8: "Hello there"}


def test_subtitles_without_times_are_text() -> None:
    assert lines("just words\n", "a.srt") == {1: "just words"}


CALENDAR = """BEGIN:VCALENDAR
X-WR-CALNAME:Club
BEGIN:VTIMEZONE
DTSTART:19700101T000000
END:VTIMEZONE
BEGIN:VEVENT
UID:7
DTSTART;TZID=Europe/Berlin:20250314T183000
DTEND:20250314T193000Z
SUMMARY:Rowing\\, first
  lesson
ORGANIZER;CN="Mara, L.":mailto:m@example.com
DESCRIPTION:Bring\\nshoes
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
END:VCALENDAR"""

CONTACTS = """BEGIN:VCARD
VERSION:3.0
N:Lake;Mara;;;
item1.TEL;TYPE=home:+49 30 1
ORG:Club;Boats
BDAY:19900203
PHOTO;ENCODING=b:AAAA
 BBBB
END:VCARD
BEGIN:VCARD
FN:Jo
NOTE:rows
END:VCARD"""


def test_calendar() -> None:
    assert lines(CALENDAR, "a.ics") == {
        2: "# Club",
        6: "## Rowing, first lesson",
        8: "Start: 2025-03-14 18:30",
        9: "End: 2025-03-14 19:30 UTC",
        12: "Organizer: Mara, L. (m@example.com)",
        13: "Bring shoes",
    }


def test_contacts() -> None:
    assert lines(CONTACTS.replace("\n", "\r\n"), "a.vcf") == {
        1: "## Lake Mara",
        4: "Phone: +49 30 1",
        5: "Organization: Club Boats",
        6: "Birthday: 1990-02-03",
        10: "## Jo",
        12: "rows",
    }


BOOKMARKS = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<TITLE>Bookmarks</TITLE>
<H1>Menu</H1>
<DL><p>
    <DT><H3 ADD_DATE="1">Boats &amp; oars</H3>
    <DL><p>
        <DT><A HREF="https://x.org/?a&amp;b" ICON="data:image/png;base64,AAAA" TAGS="wood,oar">Oars</A>
        <DD>About oars
    </DL><p>
    <DT><A HREF="javascript:x()">Script</A>
</DL><p>"""


@pytest.mark.parametrize("name", ["bookmarks.html", "bookmarks"])
def test_bookmarks(name: str) -> None:
    assert lines(BOOKMARKS, name) == {
        3: "# Menu",
        5: "## Boats & oars",
        7: "- [Oars](https://x.org/?a&b) (wood,oar)",
        8: "About oars",
        10: "- Script",
    }


def test_xml() -> None:
    xml = (
        '<?xml version="1.0"?>\n<!-- a\ncomment -->\n<book id="7"\n  label="Boats and oars" ns="http://x y z/">\n'
        "<p>Caf&#233; &amp; <b>tea</b>&#10;</p><![CDATA[a < b\nc]]>\n</book>"
    )
    assert {number: line.split() for number, line in lines(xml, "a.xml").items()} == {
        4: ["Boats", "and", "oars"],
        6: ["Café", "&", "tea", "a", "<", "b"],
        7: ["c"],
    }


def test_outlines() -> None:
    feed = '<outline text="Daily" title="Daily" xmlUrl="http://d/feed"/>'
    opml = f'<opml><body>\n<outline text="News">\n{feed}\n</outline></body></opml>'
    assert lines(opml, "feeds.opml") == {2: "- News", 3: "- Daily, http://d/feed"}


def test_xml_that_is_nearly_all_names_stays_as_it_is() -> None:
    xml = '<project><property name="build" value="out"/><property name="a" value="b"/></project>'
    assert converted(xml, "build.xml").markdown == xml


SLOW = [":r:`a" + " " * 16_000 + "`", "* a" + " " * 16_000 + "b", "= a" + " " * 16_000 + "b",
        "`" * 13_000, "``a" * 13_000, ":a" * 16_000, "|a" * 16_000, "a_." * 13_000, "`a <" * 13_000, " " * 13_000 + "x",
        ".. x::\n" * 16_000, "".join(f"{' ' * min(n, 300)}.. note::\n" for n in range(2000)), "a::\n\n" * 10_000,
        "#+begin_src\n" * 10_000, ":properties:\n" * 10_000, "[[a][" * 10_000, "= a\n" * 10_000, "----\n" * 10_000,
        "\\[" * 13_000, "\\begin{verbatim}" * 8_000, "{" * 13_000, "\\title{" * 8_000, "\\href{" * 8_000,
        "$" * 40_001, "\\verb|" * 16_000, "word " * 100_000, "x" * 1_000_000, "\\", "<<" * 13_000,
        "a\nb::\n" * 13_000,
        "<" * 100_000, "<a " * 50_000, '<a b="' * 50_000, "<!--" * 50_000, "<![CDATA[" * 20_000, "&a" * 50_000,
        "<!DOCTYPE [" * 20_000, "<a " + "b=' '" * 50_000, "<a x='" + "ab " * 50_000 + "'>", "<i>" * 50_000,
        "BEGIN:VEVENT\n" * 20_000, "A;B" * 50_000, 'A;"' * 50_000, " a\n" * 50_000, "1:1,1 --> " * 50_000
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, "a.xml", "a.ics", "a.srt", "a.html"])
def test_odd_texts_cost_little(name: str) -> None:
    head = "<!DOCTYPE NETSCAPE-Bookmark-file-1><A HREF='x'>zqx\n" if name == "a.html" else "zqx\n"
    for text in SLOW:
        started = time.process_time()
        assert len(translated(f"{head}{text}\nzqx", name)) == text.count("\n") + 3
        assert time.process_time() - started < 10, text[:40]
