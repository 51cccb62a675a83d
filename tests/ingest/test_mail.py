"""Test mail: messages, mailboxes, signed mail, Outlook."""

from __future__ import annotations

import base64
import re
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.formats import outlook
from gnod.ingest.formats.conversations.mail_threads import MailHeader, threads
from gnod.ingest.formats.signed_mail import signed_content
from gnod.ingest.member_names import Names
from gnod.ingest.reading.cpu_time import limit_cpu_time
from gnod.ingest.reading.result import ConversionFailed
from tests.ingest.unpacked import converted, unpacked

MESSAGE = (
    b"From: =?utf-8?q?J=C3=BCrgen?= <j@example.com>\r\nTo: a@example.com\r\nSubject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\n"
    b"Date: Tue, 09 Jun 2009 23:58:45 -0400\r\nMIME-Version: 1.0\r\n"
)


def test_mail() -> None:
    result = converted(
        MESSAGE + b"Content-Type: text/plain; charset=iso-8859-1\r\n\r\nSch\xf6ne Gr\xfc\xdfe\r\n", "a.eml"
    )
    assert result.title == "Grüße"
    assert result.metadata == {"author": "Jürgen <j@example.com>", "date": "2009-06-09T23:58:45-04:00"}
    assert result.markdown.startswith("# Grüße\n\n**From:** Jürgen <j@example.com>\n**To:** a@example.com\n")
    assert result.markdown.endswith("Schöne Grüße")


def test_mail_with_only_a_page_and_an_attachment() -> None:
    result = converted(
        MESSAGE + b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n'
        b"<p>page &amp; <b>text</b></p><script>no</script>\r\n--x\r\n"
        b'Content-Type: application/pdf\r\nContent-Disposition: attachment; filename="bill.pdf"\r\n'
        b"\r\n%PDF\r\n--x--\r\n",
        "mail-without-extension",
    )
    assert "page & text" in result.markdown
    assert "**Attachments:** bill.pdf" in result.markdown
    assert "no" not in result.markdown.split()


def test_mailbox() -> None:
    one = b"From a@b Tue Jun  9 23:58:45 2009\nSubject: one\nFrom: a@b\n\nFrom here on, body 1\n\n"
    two = b"From c@d Wed Jun 10 23:58:45 2009\nSubject: two\nFrom: c@d\n\nbody 2\n"
    result = converted(one + two, "a.mbox")
    assert (result.title, result.mime) == (None, "application/mbox")
    assert result.markdown == "# one\n\n**From:** a@b\n\nFrom here on, body 1\n\n# two\n\n**From:** c@d\n\nbody 2"
    assert result.locations is not None
    assert [start.value for start in result.locations.starts] == [1, 2]


HEADER = "From: Ada <ada@example.org>\nSubject: {}\nMessage-ID: <{}@example.org>\n\n"
ENVELOPE = "From ada@example.org Mon Mar  2 09:00:00 2026\n"
PARAGRAPHS = [
    "From 2024 on, we count in lindens.",
    "From 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 Mon Sep 17 00:00:00 2001\nFrom: Bo <bo@example.org>\nSubject: patch",
    "From 1999 to 2001\nNote: it rained.",
    "From here on",
    "From: a quoted header of 2025",
    "plain words",
]


@given(
    st.lists(st.lists(st.sampled_from(PARAGRAPHS), max_size=4), min_size=1, max_size=4), st.sampled_from(["\n", "\r\n"])
)
def test_a_mailbox_is_split_at_its_separators_only(bodies: list[list[str]], line_end: str) -> None:
    messages = [
        ENVELOPE + HEADER.format(f"subject{number}", number) + "\n\n".join(body) + "\n\n"
        for number, body in enumerate(bodies)
    ]
    made = converted("".join(messages).replace("\n", line_end).encode(), "a.mbox").markdown
    assert re.findall(r"^# (.*)", made, re.MULTILINE) == [f"subject{number}" for number in range(len(bodies))]
    for body in bodies:
        for line in "\n".join(body).split("\n"):
            assert line in made


def test_quoted_separators_lose_one_mark() -> None:
    text = ENVELOPE + HEADER.format("a", 1) + ">From here\n>>From there\n> From none\n"
    assert converted(text, "a.mbox").markdown.endswith("From here\n>From there\n> From none")


def test_a_file_of_patches_is_a_mailbox() -> None:
    commit = "From 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 Mon Sep 17 00:00:00 2001\n"
    result = converted(f"{commit}From: Bo\nSubject: one\n\nx\n\n{commit}From: Bo\nSubject: two\n\ny\n", "a.mbox")
    assert result.markdown == "# one\n\n**From:** Bo\n\nx\n\n# two\n\n**From:** Bo\n\ny"


# ------------------------------------------------------------------------------------------- threads


def box(*messages: dict[str, str]) -> bytes:
    """Return a mailbox of messages with these fields, in which `_` means a hyphen, and with `text` as the body."""
    written = []
    for number, fields in enumerate(messages):
        text = fields.get("text", f"text {number}")
        header = {"From": "Ada <ada@example.org>", "Subject": "Keel", **fields}
        lines = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in header.items() if name != "text")
        written.append(f"From ada@example.org Mon Mar  2 09:00:00 2026\n{lines}\n{text}\n\n")
    return "".join(written).encode()


def mail(id_: str, hour: int, refers: str = "", subject: str = "Re: Keel", **others: str) -> dict[str, str]:
    references = {"References": refers} if refers else {}
    date = f"Mon, 02 Mar 2026 {hour:02}:00:00 +0100"
    return {"Message_ID": f"<{id_}>", "Date": date, "Subject": subject, **references, **others}


def thread_texts(*messages: dict[str, str]) -> list[list[str]]:
    """Return the texts of the messages in each thread, in the displayed order."""
    made = unpacked(box(*messages), "in.mbox").texts
    found = {path: re.findall(r"^text.*", text, re.MULTILINE) for path, text in made.items()}
    alone = [] if "Mail, in in." in made["in.mbox"] else [[text] for text in found.pop("in.mbox")]
    return sorted([*found.values(), *alone])


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([mail("a", 9, subject="Keel"), mail("b", 10, "<a>"), mail("c", 11, "<a> <b>")], [["0", "1", "2"]]),
        ([mail("c", 11, "<a> <b>"), mail("a", 9, subject="Keel"), mail("b", 10, "<a>")], [["1", "2", "0"]]),
        ([mail("b", 9, "<lost>", "Bolts"), mail("c", 10, "<lost>", "Nuts")], [["0", "1"]]),
        ([mail("a", 9, "<b>", "A"), mail("b", 10, "<a>", "B"), mail("x", 11, "<x>", "C")], [["0", "1"], ["2"]]),
        ([mail("a", 9, subject="One"), mail("a", 10, subject="Two")], [["0"], ["1"]]),
        ([mail("a", 9, subject="One"), mail("a", 9, subject="One", text="text 0")], [["0"]]),
        ([mail("a", 9, subject="One"), mail("a", 10, subject="One")], [["0", "1"]]),
        ([mail("a", 9, subject="Keel"), mail("b", 10, subject="Keel")], [["0"], ["1"]]),
        ([mail("a", 9, subject="[boat] Keel"), mail("b", 10, subject="AW: Re[2]: [boat] keel")], [["0", "1"]]),
        ([mail("a", 9, subject="Re: "), mail("b", 10, subject="Re:")], [["0"], ["1"]]),
        (
            [mail("a", 9, subject="Keel"), mail("b", 10, subject="Keel"), mail("c", 11), mail("d", 9, "<a>")],
            [["0", "3"], ["1", "2"]],
        ),
        (
            [mail("a", 9, subject="A"), mail("b", 10, subject="B", In_Reply_To="<a> (on Monday)")],
            [["0", "1"]],
        ),
        (
            [mail(each, 9, subject=each, In_Reply_To="Your mail to <bo@example.org>") for each in ("a", "b")],
            [["0"], ["1"]],
        ),
        ([{"Date": "soon", "Message_ID": "a", "References": "<<>"}, {"Message_ID": "", "Subject": ""}], [["0"], ["1"]]),
    ],
)  # fmt: skip
def test_a_thread_is_a_conversation(messages: list[dict[str, str]], expected: list[list[str]]) -> None:
    assert thread_texts(*messages) == [[f"text {number}" for number in thread] for thread in expected]


def test_the_messages_of_a_thread_are_its_locations() -> None:
    messages = mail("a", 9, subject="Keel"), mail("b", 10, "<a>", "Re: Keel (was: mast)", From="bo@example.org")
    result = converted(box(*messages), "in.mbox")
    assert result.markdown == (
        "# Keel\n\nMail, in in. Times are UTC.\n\n## Ada, 2026-03-02 08:00\n\n**From:** Ada <ada@example.org>\n\n"
        "text 0\n\n## bo@example.org, 2026-03-02 09:00\n\n**From:** bo@example.org\n"
        "**Subject:** Re: Keel (was: mast)\n\ntext 1"
    )
    assert result.metadata["date"] == "2026-03-02 09:00Z"
    assert result.metadata["from"] == ["Ada", "bo@example.org"]
    assert result.locations is not None
    assert [start.value for start in result.locations.starts] == [1, 2]


def test_mails_that_nobody_answered_keep_their_numbers() -> None:
    messages = (
        mail("a", 9, subject="Keel"),
        mail("x", 9, subject="Oars"),
        mail("b", 10, "<a>"),
        mail("y", 9, subject="Tar"),
    )
    made = unpacked(box(*messages), "in.mbox").texts
    assert set(made) == {"in.mbox", "in.mbox!/Keel"}
    locations = converted(box(*messages), "in.mbox").locations
    assert locations is not None
    assert [start.value for start in locations.starts] == [2, 4]


def test_a_subject_with_many_tags_is_fast() -> None:
    with limit_cpu_time(5):
        threads([MailHeader("", "", "", "[a]Re:" * 200_000, "")] * 20)


def test_threads_with_the_same_subject_have_different_names() -> None:
    names = Names()
    with limit_cpu_time(5):
        found = [names.name("Cron") for _ in range(30_000)]
    assert (found[0], found[-1], len(set(found))) == ("Cron", "Cron (30000)", 30_000)


def test_a_long_thread_is_grouped_fast() -> None:
    """Each mail refers only to the previous mail."""
    chain = [MailHeader(f"<{n}>", f"<{n - 1}>", "", f"{n}", "") for n in range(50_000)]
    with limit_cpu_time(10):
        assert len(threads(chain[::-1])) == 1


def test_threads_stay_where_an_attachment_ends_the_worker() -> None:
    mails = [mail(id_, 9, subject=id_) for id_ in "AB"] + [mail(f"{id_}2", 10, f"<{id_}>") for id_ in "AB"]
    made = unpacked(box(*mails), "in.mbox", without_members="It ended.")  # type: ignore[arg-type]
    assert set(made.texts) == {"in.mbox", "in.mbox!/A", "in.mbox!/B"}


JAPANESE = "月末の締めより先に請求書をお送りします。"
PAGE = "<h1>Order 88</h1><p>Two marblewort lamps leave our store on Thursday with the carrier Bluewren.</p>"


def alternatives(plain: str, page: str, *more: tuple[str, str]) -> bytes:
    message = EmailMessage()
    message["Subject"] = "Order"
    message.set_content(plain)
    message.add_alternative(page, subtype="html")
    for kind, text in more:
        message.add_alternative(text, subtype=kind)
    return message.as_bytes()


@pytest.mark.parametrize(
    ("plain", "page", "found", "lost"),
    [
        ("View this in an HTML viewer.", PAGE, "marblewort", "viewer"),
        (" \n", PAGE, "marblewort", "<p>"),
        ("https://example.org/view?id=1", PAGE, "marblewort", "view?id"),
        (
            "Two marblewort lamps leave on Thursday from our store. plainword",
            PAGE,
            "plainword",
            "Order 88",
        ),
        ("The whole text, and nothing else, is here: plainword.", "<p>see the text</p>", "plainword", "see the"),
        (
            "この内容はHTMLで見てください。",
            f"<p>{JAPANESE}山田さんが鍵を持っています。</p>",
            "山田",
            "見てください",
        ),
        ("plainword here", "", "plainword", "<"),
    ],
)
def test_the_fuller_alternative_is_shown(plain: str, page: str, found: str, lost: str) -> None:
    markdown = converted(alternatives(plain, page), "a.eml").markdown
    assert found in markdown
    assert lost not in markdown


def test_an_invitation_is_shown_beside_the_text() -> None:
    data = alternatives("Please come.", "<p>Please come.</p>", ("calendar", "BEGIN:VCALENDAR\nLOCATION:pierword\n"))
    markdown = converted(data, "a.eml").markdown
    assert "pierword" in markdown
    assert markdown.count("Please come") == 1


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("text/plain", JAPANESE.encode("iso2022_jp"), JAPANESE),
        ("text/plain; charset=us-ascii", JAPANESE.encode("iso2022_jp"), JAPANESE),
        ("text/plain; charset=iso-2022-jp", JAPANESE.encode(), JAPANESE),
        (
            "text/plain; charset=iso-2022-jp",
            "①㈱ﾃｽﾄ".encode("iso2022_jp_ext", "ignore") + JAPANESE.encode("iso2022_jp"),
            JAPANESE,
        ),
        ("text/plain", JAPANESE.encode("shift_jis"), JAPANESE),
        ("text/plain; charset=x-sjis", "髙橋①".encode("cp932"), "髙橋①"),
        ("text/plain; charset=gb2312", "钥匙在镕先生那里".encode("gb18030"), "钥匙在镕先生那里"),
        ("text/plain; charset=utf-7", b"Sch+APY-ne Gr+APwA3w-e", "Schöne Grüße"),
        ("text/plain; charset=unicode-1-1-utf-7", b"Gr+APwA3w-e", "Grüße"),
        ("text/plain; charset=no-such", "Grüße".encode("latin-1"), "Grüße"),
        ("text/plain; charset=ks_c_5601-1987", "똠방각하".encode("cp949"), "똠방각하"),
        ("text/plain; format=flowed; delsp=yes", "倉庫の \n鍵".encode(), "倉庫の鍵"),
        ("text/plain; charset=iso-2022-kr", "안녕하세요".encode("iso2022_kr"), "안녕하세요"),
    ],
)
def test_the_text_is_readable_whatever_is_declared(content_type: str, body: bytes, text: str) -> None:
    data = f"From: a@example.jp\nSubject: x\nContent-Type: {content_type}\n\n".encode() + body + b"\n"
    assert text in converted(data, "a.eml").markdown


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        ("請求書".encode("iso2022_jp"), "請求書"),
        (b"=?iso-2022-jp?B?" + base64.b64encode("請求書".encode("iso2022_jp")) + b"?=", "請求書"),
        (b"Re: =?gb2312?B?" + base64.b64encode("镕先生".encode("gb18030")) + b"?=", "Re: 镕先生"),
        (b"=?utf-7?Q?Gr+APwA3w-e?=", "Grüße"),
        (b"=?utf-8?B?5YCJ?= =?utf-8?B?5bqr?=", "倉庫"),
        ("Grüße".encode("latin-1"), "Grüße"),
    ],
)
def test_headers_are_readable(header: bytes, subject: str) -> None:
    assert converted(b"From: a@b\nSubject: " + header + b"\n\nx\n", "a.eml").title == subject


def test_attached_messages_are_members() -> None:
    inner = EmailMessage()
    inner["Subject"] = "Inner plan"
    inner.set_content("innerword")
    message = EmailMessage()
    message["Subject"] = "Outer"
    message.set_content("outerword")
    message.add_attachment(inner)
    found = unpacked(message.as_bytes(), "a.eml")
    assert "innerword" not in found.texts["a.eml"]
    assert "innerword" in found.texts["a.eml!/Inner plan.eml"]


def test_a_forwarded_message_is_in_the_text() -> None:
    data = (
        b"Subject: Fwd\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nsee\n--x\n"
        b"Content-Type: message/rfc822\n\nFrom: Ada <ada@example.org>\nSubject: Old plan\n\ninnerword\n--x--\n"
    )
    markdown = converted(data, "a.eml").markdown
    for text in ("see", "# Old plan", "Ada <ada@example.org>", "innerword"):
        assert text in markdown


def test_a_detached_signature_is_not_an_attachment() -> None:
    data = (
        b"Subject: s\nContent-Type: multipart/signed; boundary=x\n\n--x\nContent-Type: text/plain\n\nsignedword\n--x\n"
        b"Content-Type: application/pkcs7-signature; name=smime.p7s\nContent-Transfer-Encoding: base64\n\nMIIB\n--x--\n"
    )
    found = unpacked(data, "a.eml")
    assert "signedword" in found.text
    assert "p7s" not in found.text
    assert not found.unread


def der(tag: int, value: bytes) -> bytes:
    size = len(value).to_bytes(max((len(value).bit_length() + 7) // 8, 1), "big")
    return bytes([tag]) + (size if len(value) < 128 else bytes([0x80 + len(size)]) + size) + value


SIGNED_DATA, DATA = bytes.fromhex("06092a864886f70d010702"), bytes.fromhex("06092a864886f70d010701")


def signed(octets: bytes, *, indefinite: bool = False) -> bytes:
    """Return a message as `openssl cms -sign -nodetach` writes it; `indefinite`: with `-stream`."""
    wrap = (lambda tag, value: bytes([tag, 0x80]) + value + b"\0\0") if indefinite else der
    content = wrap(0x30, DATA + wrap(0xA0, octets))
    return wrap(0x30, SIGNED_DATA + wrap(0xA0, wrap(0x30, der(2, b"\1") + der(0x31, b"") + content + der(0x31, b""))))


INNER = b"Content-Type: text/plain; charset=utf-8\n\nenclosedword " + b"x" * 300 + b"\n"


@pytest.mark.parametrize(
    "data",
    [
        signed(der(4, INNER)),
        signed(der(0x24, der(4, INNER[:50]) + der(4, INNER[50:]))),
        signed(b"\x24\x80" + der(4, INNER[:200]) + der(4, INNER[200:]) + b"\0\0", indefinite=True),
    ],
)
def test_the_text_inside_a_signature_is_the_text_of_the_mail(data: bytes) -> None:
    message = (
        b"From: a@b\nSubject: opaque\nContent-Type: application/pkcs7-mime; smime-type=signed-data; name=smime.p7m\n"
        b"Content-Transfer-Encoding: base64\n\n" + base64.encodebytes(data)
    )
    result = converted(message, "a.eml")
    assert result.title == "opaque"
    assert "enclosedword" in result.markdown


def test_a_file_with_a_signature_has_the_enclosed_text() -> None:
    data = signed(der(4, INNER))
    pem = b"-----BEGIN PKCS7-----\n" + base64.encodebytes(data) + b"-----END PKCS7-----\n"
    for each in (data, base64.encodebytes(data), pem):
        assert "enclosedword" in converted(each, "smime.p7m").markdown
    with pytest.raises(ConversionFailed, match="signature without text"):
        converted(der(0x30, SIGNED_DATA), "smime.p7s")


def test_a_page_in_a_mail_names_its_own_charset() -> None:
    page = '<html><head><meta charset="koi8-r"></head><body>Привет</body></html>'.encode("koi8-r")
    assert "Привет" in converted(b"Subject: x\nContent-Type: text/html\n\n" + page, "a.eml").markdown


@given(st.binary(max_size=60), st.integers(0, 400))
def test_a_damaged_signature_has_no_content_or_some(junk: bytes, at: int) -> None:
    data = signed(der(4, INNER))
    with limit_cpu_time(5):
        signed_content(data[:at] + junk)
        signed_content(SIGNED_DATA + junk)


@given(st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_compressed_rich_text_never_fails(data: bytes, size: int) -> None:
    header = bytes(4) + size.to_bytes(4, "little") + b"LZFu" + bytes(4)
    assert len(outlook.decompressed(header + data)) <= 20 * len(data) * 8 + 8


def test_compressed_rich_text_is_read() -> None:
    """The example is from MS-OXRTFCP, section 3.1."""
    data = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )
    assert outlook.decompressed(data) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
