"""Test subtitles, calendars, contacts and XML: the text remains, and lines keep their numbers."""

from __future__ import annotations

import time

import pytest

from gnod.ingest.formats import Converted, convert


def converted(text: str, name: str) -> Converted:
    result = convert(text.encode(), name, max_characters=10_000_000)
    assert result.keeps_lines
    assert result.markdown.count("\n") == text.count("\n")
    return result


def lines(text: str, name: str) -> dict[int, str]:
    """Return the lines that are not empty, by number."""
    found = enumerate(converted(text, name).markdown.split("\n"), start=1)
    return {number: line for number, line in found if line.strip()}


def test_subtitles() -> None:
    srt = (
        "1\n00:00:01,000 --> 00:00:04,000\n<i>Hello</i> {\\an8}there,\n# la la #\n\n2\n00:01:05,5 --> 00:01:06,0\n42\n"
    )
    assert lines(srt, "talk.srt") == {3: "Hello there,", 4: "# la la #", 8: "42"}
    assert convert(srt.encode(), "talk.srt", max_characters=999).markup == "plain"
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


SLOW = ["<" * 100_000, "<a " * 50_000, '<a b="' * 50_000, "<!--" * 50_000, "<![CDATA[" * 20_000, "&a" * 50_000,
        "<!DOCTYPE [" * 20_000, "<a " + "b=' '" * 50_000, "<a x='" + "ab " * 50_000 + "'>", "<i>" * 50_000,
        "BEGIN:VEVENT\n" * 20_000, "A;B" * 50_000, 'A;"' * 50_000, " a\n" * 50_000, "1:1,1 --> " * 50_000,
        "x" * 1_000_000]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.xml", "a.ics", "a.srt", "a.html"])
def test_odd_texts_are_fast(name: str) -> None:
    for text in SLOW:
        started = time.process_time()
        head = "<!DOCTYPE NETSCAPE-Bookmark-file-1><A HREF='x'>zqx" if name == "a.html" else "zqx"
        converted(f"{head}\n{text}\nzqx", name)
        assert time.process_time() - started < 3, text[:40]
