"""Test conversations: the file of each program becomes one document with a heading for each message."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnod.ingest.formats.conversations import agents, irc
from gnod.ingest.formats.conversations.chat_text import FORMATS as CHATS
from gnod.ingest.formats.conversations.conversation import (
    LONGEST_LINE,
    PART_CHARACTERS,
    LineFormat,
    State,
    parts,
    state_of,
)
from gnod.ingest.formats.conversations.rendering import FOLDED_LINES, quoted
from gnod.ingest.reading.converter import Converter
from gnod.ingest.reading.result import CONVERSATION, Converted
from gnod.ingest.text.canonical import canonicalise
from gnod.ingest.text.outline import outline
from tests import conversation_files as files
from tests.ingest.unpacked import converted, unpacked

ASKED = "## user, 2026-03-04 10:22\n\nHow is the keel fastened?"
SAID = "## assistant, 2026-03-04 10:22\n\n"


def lines(*written: str) -> str:
    return "\n".join(written) + "\n"


def headings(markdown: str) -> list[str]:
    return [each.text for each in outline(canonicalise(markdown)).headings]


def session(*written: str) -> Converted:
    return converted(lines(*written), "5e55.jsonl")


# ------------------------------------------------------------------------------------------- each format


def test_claude_code() -> None:
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "ls\nls keel", "timeout": 3}}
    image = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo" * 99}}
    result = session(
        files.claude_code("user", "How is the keel fastened?"),
        files.claude_code(
            "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."}, call]
        ),
        files.claude_code("user", [{"type": "tool_result", "content": [{"type": "text", "text": "bolts.txt"}, image]}]),
        files.claude_code("user", "Caveat: local commands", isMeta=True),
        files.claude_code("user", "<system-reminder>be good</system-reminder>"),
        files.claude_code("assistant", [{"type": "text", "text": "Bolted."}], "2026-03-04T10:25:00Z"),
        json.dumps({"type": "file-history-snapshot", "messageId": "x"}),
    )
    assert result.markdown == (
        "# How is the keel fastened?\n\nClaude Code, in /home/mara/boat. Times are UTC.\n\n"
        f"{ASKED}\n\n{SAID}I look.\n\n```tool Bash\ncommand: ls\nls keel\ntimeout: 3\n```\n\n"
        "```output\nbolts.txt\n\n[image left out]\n```\n\n## assistant, 2026-03-04 10:25\n\nBolted."
    )
    assert (result.mime, result.title) == (CONVERSATION, "How is the keel fastened?")
    assert result.metadata == {
        "source": "Claude Code",
        "from": ["user", "assistant"],
        "in": "/home/mara/boat",
        "began": "2026-03-04 10:22Z",
        "date": "2026-03-04 10:25Z",
        "role": ["user", "assistant"],
    }
    assert result.locations is not None
    at = {start.value: result.markdown.split("\n")[start.line - 1] for start in result.locations.starts}
    assert at == {
        1: "## user, 2026-03-04 10:22",
        2: "## assistant, 2026-03-04 10:22",
        3: "## assistant, 2026-03-04 10:25",
    }


def test_codex() -> None:
    new = converted(lines(*files.codex_session()), "rollout-1.jsonl").markdown
    talk = "```tool shell\ncommand: ls keel\n```\n\n```output\nbolts.txt\n```\n\nBolted."
    assert new.endswith(f"Codex, in /home/mara/boat. Times are UTC.\n\n{ASKED}\n\n{SAID}{talk}")
    first = {"id": "1", "timestamp": files.TIME, "instructions": None}
    old = [json.loads(line)["payload"] for line in files.codex_session()[2:]]
    markdown = converted(lines(*map(json.dumps, [first, *old])), "rollout-0.jsonl").markdown
    assert "## user\n\nHow is the keel fastened?\n\n## assistant\n\n" + talk in markdown


def test_chatgpt_follows_the_branch_that_was_shown() -> None:
    export = json.dumps([files.chatgpt("Keel / bolts", "With glue.", "With bolts."), files.chatgpt("Sails", "Sewn.")])
    texts = unpacked(export.encode(), "conversations.json").texts
    assert list(texts) == ["conversations.json", "conversations.json!/Keel - bolts", "conversations.json!/Sails"]
    keel = texts["conversations.json!/Keel - bolts"]
    assert keel == f"# Keel / bolts\n\nChatGPT. Times are UTC.\n\n{ASKED}\n\n{SAID}With bolts.\n"


def test_names_of_conversations_stay_when_new_ones_come_first() -> None:
    old, new = files.chatgpt("New chat", "old"), files.chatgpt("New chat", "new")
    new["create_time"] = files.SECONDS + 3600
    before = unpacked(json.dumps([old]).encode() + b" ", "c.json").texts
    after = unpacked(json.dumps([new, old, files.chatgpt("Sails", "x")]).encode(), "c.json").texts
    assert after["c.json!/New chat"] == before["c.json"]
    assert after["c.json!/New chat (2)"].endswith("new\n")


def test_claude_ai() -> None:
    export = [files.claude_ai("Keel", "How is the keel fastened?", "Bolted."), files.claude_ai("Empty")]
    assert converted(json.dumps(export), "conversations.json").markdown.endswith(f"{ASKED}\n\n{SAID}Bolted.")


def test_gemini_has_a_document_for_each_day() -> None:
    texts = unpacked(json.dumps(files.gemini("keel", "sails", "mast")).encode(), "MyActivity.json").texts
    first = texts["MyActivity.json!/Gemini, 2026-03-04"]
    assert "## user, 2026-03-04 10:22\n\nsails\n\n## assistant, 2026-03-04 10:22\n\nAbout sails" in first
    assert len(texts) == 3


ANSWER = "<p>Bolts &amp; <b>glue</b>:</p><pre><code>a &lt; b</code></pre>"


def test_gemini_as_a_web_page() -> None:
    page = files.gemini_page(
        ("Prompted&nbsp;What about 10:22:31?", "Mar 5, 2026, 12:05:31\u202fAM CET", ANSWER),
        ("Prompted&nbsp;keel &lt;br&gt;<br>second line", "Mar 4, 2026, 1:22:31\u202fPM CET", "<p>Bolted</p>"),
        ("Used Gemini Apps", "Mar 4, 2026, 9:00:00\u202fAM CET", ""),
    )
    texts = unpacked(page.encode(), "MyActivity.html").texts
    assert texts["MyActivity.html!/Gemini, 2026-03-04"] == (
        "# Gemini, 2026-03-04\n\nGemini. Times are CET.\n\n## user, 2026-03-04 09:00\n\nUsed Gemini Apps\n\n"
        "## user, 2026-03-04 13:22\n\nkeel <br>\nsecond line\n\n## assistant, 2026-03-04 13:22\n\nBolted\n"
    )
    last = texts["MyActivity.html!/Gemini, 2026-03-05"]
    assert "## user, 2026-03-05 00:05\n\nWhat about 10:22:31?\n\n## assistant, 2026-03-05 00:05\n\nBolts & glue" in last


@pytest.mark.parametrize(
    ("written", "day", "time"),
    [
        ("4 Mar 2026, 10:22:31 GMT", "2026-03-04", "2026-03-04 10:22"),
        ("04.03.2026, 10:22:31 MEZ", "2026-03-04", "2026-03-04 10:22"),
        ("2026/03/04 10:22:31 JST", "2026-03-04", "2026-03-04 10:22"),
        ("2026. 3. 4. 오후 10:22:31 KST", "2026-03-04", "2026-03-04 22:22"),
        ("4 mars 2026, 10:22:31 CET", "4 mars 2026", ""),
        ("4/3/2026, 10:22:31 CET", "4/3/2026", ""),
        ("31 marraskuu 2026 klo 10.22.31", "31 marraskuu 2026", ""),
        ("soon", "", ""),
    ],
)
def test_times_of_gemini_in_other_languages(written: str, day: str, time: str) -> None:
    """A day that cannot be parsed keeps its spelling and is not guessed."""
    result = converted(files.gemini_page(("Gefragt: keel", written, "Bolted")), "MyActivity.html")
    assert result.title == ", ".join(filter(None, ("Gemini", day)))
    assert f"\n\n## user{', ' if time else ''}{time}\n\nGefragt: keel" in result.markdown


def test_damaged_pages_of_gemini() -> None:
    time = "Mar 5, 2026, 10:00:00 AM UTC"
    page = files.gemini_page(("keel", time, ANSWER), ("mast", time, ""))
    for end in range(page.index("outer-cell"), len(page), 41):
        result = converted(page[:end], "MyActivity.html")
        assert "corrupt" in result.left_out or result.mime == "text/html"
    assert converted(page[: page.index("glue") + 4], "MyActivity.html").markdown.endswith("\n\nBolts & glue")


def test_other_activity_stays_a_web_page() -> None:
    page = files.gemini_page(("Watched Gemini", "Mar 5, 2026, 10:00:00 AM UTC", ""), product="YouTube")
    assert converted(page, "MyActivity.html").mime == "text/html"


def test_slack() -> None:
    message = files.slack_message("The keel of <@U2> &amp; <https://a.example|a page>", files=[{"name": "plan.pdf"}])
    joined = files.slack_message("<@U2> has joined", subtype="channel_join")
    export = files.slack(
        {
            "keel/2026-03-04.json": json.dumps([message, joined]),
            "keel/2026-03-05.json": "[{",
            "D1/2026-03-04.json": json.dumps([files.slack_message("Private", "U2")]),
        }
    )
    texts = unpacked(export, "export.zip").texts
    assert texts["export.zip!/#keel"] == (
        "# #keel\n\nSlack, in #keel. Times are UTC.\n\n## Mara, 2026-03-04 10:22\n\n"
        "The keel of @bo & [a page](https://a.example)\n\n[file left out: plan.pdf]\n\n"
        "## Slack\n\n[keel/2026-03-05.json could not be read]\n"
    )
    assert "## bo, 2026-03-04 10:22\n\nPrivate" in texts["export.zip!/Mara, bo"]
    profile = files.slack_message("Unpacked", user_profile={"real_name": "Mara"})
    day = converted(json.dumps([profile]), "export/keel/2026-03-04.json")
    assert (day.title, day.metadata["in"], day.metadata["from"]) == ("#keel, 2026-03-04", "#keel", ["Mara"])


def test_matrix_has_the_last_text_of_an_edited_message() -> None:
    relation = {"rel_type": "m.replace", "event_id": "$bolted"}
    name = {"type": "m.room.member", "state_key": "@mara:example.org", "content": {"displayname": "Mara"}}
    new = {"msgtype": "m.text", "body": "glued"}
    edit = files.matrix_event("* glued", content={"m.relates_to": relation, "m.new_content": new})
    export = files.matrix(name, files.matrix_event("bolted"), edit, files.matrix_event("yes", "@bo:example.org"))
    result = converted(json.dumps(export), "export.json")
    assert result.markdown.endswith("## Mara, 2026-03-04 10:22\n\nglued\n\n## bo, 2026-03-04 10:22\n\nyes")
    assert (result.title, result.metadata["in"]) == ("Keel", "Keel")


def test_teams() -> None:
    graph = converted(json.dumps(files.teams(("Mara", "How?"), ("Bo", "<b>Bolted</b>."))), "keel.json")
    assert graph.markdown.endswith("## Mara, 2026-03-04 10:22\n\nHow?\n\n## Bo, 2026-03-04 10:23\n\nBolted.")
    personal = converted(json.dumps(files.skype(("Bo", "<b>Bolted</b>."))), "messages.json")
    assert personal.markdown.endswith("Teams, in Keel. Times are UTC.\n\n## Bo, 2026-03-04 10:22\n\nBolted.")


@pytest.mark.parametrize(
    ("written", "time"),
    [
        ("[04/03/2026, 10:22:31] Mara: Hello", "2026-03-04 10:22"),
        ("[4.3.2026 klo 10.22.31] Mara: Hello", "2026-03-04 10:22"),
        ("[2026-03-04, 10:22:31] Mara: Hello", "2026-03-04 10:22"),
        ("[25/03/26, 1:22:31\u202fPM] ~ Mara: Hello", "2026-03-25 13:22"),
        ("3/4/26, 1:22\u202fPM - Mara: Hello", "2026-03-04 13:22"),
        ("3/25/26, 12:22 am - Mara: Hello", "2026-03-25 00:22"),
        ("04/03/2026, 1:22 p. m. - Mara: Hello", "2026-03-04 13:22"),
        ("04.03.26, 10:22 - Mara: Hello", "2026-03-04 10:22"),
        ("04-03-2026 10:22 - Mara: Hello", "2026-03-04 10:22"),
        ("2026. 03. 04. 10:22 - Mara: Hello", "2026-03-04 10:22"),
        ("2026/3/4 下午1:22 - Mara: Hello", "2026-03-04 13:22"),
        ("2026년 3월 4일 오후 1:22, Mara : Hello", "2026-03-04 13:22"),
        ("٠٤\u200f/٠٣\u200f/٢٠٢٦، ١:٢٢ م - Mara: \u200fHello", "2026-03-04 13:22"),
    ],
)
def test_whatsapp_in_the_forms_of_many_countries(written: str, time: str) -> None:
    head = written.partition("Mara")[0]
    notes = f"{head}Messages are end-to-end encrypted."
    chat = lines(f"\u200e{notes}", written, "and more", f"\u200e{head}\u202a+49 170\u202c: <Media omitted>", written)
    result = converted(chat, "WhatsApp Chat with Mara.txt")
    says = written.rpartition(": ")[2]
    assert result.markdown == (
        f"# Mara\n\nWhatsApp, in Mara.\n\n## Mara, {time}\n\n{says}\nand more\n\n"
        f"## +49 170, {time}\n\n[media left out]\n\n## Mara, {time}\n\n{says}"
    )


def test_signal() -> None:
    result = converted("[2026-03-04, 10:22] Me: # How?\n[2026-03-04 10:23:05] Bo: Bolted.\n\n  Twice.", "Bo/chat.md")
    assert result.markdown == (
        "# Bo\n\nSignal, in Bo.\n\n## Me, 2026-03-04 10:22\n\n\\# How?\n\n"
        "## Bo, 2026-03-04 10:23\n\nBolted.\n\n  Twice."
    )


@pytest.mark.parametrize(
    ("name", "log"),
    [
        (
            "logs/#keel.log",
            "--- Log opened Tue Mar 03 10:22:33 2026\n--- Day changed Wed Mar 04 2026\n"
            "10:20 -!- bo [~b@c] has joined #keel\n10:22 <@mara> How?\n10:23 < bo> # Bolted.\n10:24  * mara nods\n",
        ),
        (
            "irc.libera.#keel.weechatlog",
            "2026-03-04 10:22:31\t@mara\tHow?\n2026-03-04 10:22:35\t-->\tbo (b@c) has joined #keel\n"
            "2026-03-04 10:23:31\tbo\t# Bolted.\n2026-03-04 10:24:31\t *\tmara nods\n",
        ),
        (
            "#keel/2026-03-04.log",
            "[10:22:31] <mara> How?\n[10:22:40] *** Joins: bo\n[10:23:31] <bo> # Bolted.\n[10:24:31] * mara nods\n",
        ),
        (
            "#keel.txt",
            "**** BEGIN LOGGING AT Wed Mar  4 10:22:31 2026\n\nMar 04 10:22:31 <mara>\tHow?\n"
            "Mar 04 10:23:35 <bo>\t# Bolted.\nMar 04 10:24:36 *\tmara nods\n",
        ),
    ],
)  # fmt: skip
def test_irc(name: str, log: str) -> None:
    result = converted(log, name)
    assert result.markdown == (
        "# #keel\n\nIRC, in #keel.\n\n## mara, 2026-03-04 10:22\n\nHow?\n\n## bo, 2026-03-04 10:23\n\n\\# Bolted.\n\n"
        "## mara, 2026-03-04 10:24\n\nmara nods"
    )
    assert result.metadata["from"] == ["mara", "bo"]


# ------------------------------------------------------------------------------------- other kinds of files


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"messages": [{"role": "user", "content": "hi"}]}'),
        ("a.json", '{"mapping": {"children": ["a"], "create_time": 1}, "title": "an index"}'),
        ("a.json", '[{"uuid": "1", "created_at": "now", "chat_messages": []}]'),
        ("a.json", '{"room_name": "kitchen", "export_date": "2026"}'),
        ("a.json", '[{"header": "Gemini", "title": "the twins", "time": "2026-03-04"}]'.replace("Gemini", "Leo")),
        ("a.json", '[{"type": "event", "ts": "1772619751.120000", "user": "mara"}]'),
        ("a.jsonl", '{"type": "user", "text": "hi"}\n{"type": "assistant", "text": "hi"}\n'),
        ("a.jsonl", '{"messages": [{"role": "user", "content": "hi"}]}\n'),
        ("a.log", "2026-03-04 10:22:31,120 - boat - INFO - keel: bolted\n" * 5),
        ("a.log", "[2026-03-04 10:22:31] boat.ERROR: keel is loose\n" * 5),
        ("a.log", "10:22:31 INFO keel: bolted\n" * 5),
        ("a.txt", "2026-03-04 10:22:31 - INFO: keel\n2026-03-04 10:22:32 - ERROR: keel\n"),
        ("a.txt", "Mara: How is the keel fastened?\nBo: With bolts.\nMara: Good.\n"),
        ("a.txt", "04.03.2026, 10:22 - The day begins.\n05.03.2026, 10:22 - The day ends.\n"),
        ("a.md", "# Log\n\n[2026-03-04, 10:22] Me: hi\n[2026-03-04, 10:23] Me: hi\n"),
        ("a.txt", "10:22 <b>bold</b> text\n\nThen a page of prose.\nAnd more.\n10:23 <i>it</i>\n"),
        ("a.csv", "[04/03/2026, 10:22:31] Mara: Hello\n" * 3),
    ],
)
def test_other_files_stay_what_they_are(name: str, text: str) -> None:
    result = converted(text, name)
    assert result.mime != CONVERSATION
    assert name.endswith("csv") or result.markdown == text


# ------------------------------------------------------------------------------------------- bad input


def test_broken_lines_are_counted_and_the_last_one_may_still_be_written() -> None:
    good = files.claude_code("user", "How?")
    long = "x" * (LONGEST_LINE + 1)
    result = session("{broken", good, "[1]", "\0\0", files.claude_code("user", "Because \ud83d."), long, "\xff")
    assert "4 lines could not be read." in result.markdown
    assert "Because \ufffd." in canonicalise(result.markdown)
    assert "could not" not in converted(f"{good}\n{good[:50]}", "a.jsonl").markdown
    nested = session(good, '{"a":' * 100_000, good)
    assert "1 line could not be read." in nested.markdown


@pytest.mark.parametrize("piece", [" ", "a ", ":", "\u200e", "a", "~ ", "<", "1", "*", "# ", "`", "=\n"])
@pytest.mark.stress
def test_hostile_lines_take_linear_time(piece: str) -> None:
    """In quadratic time, each of these would take hours."""
    long = piece * 100_000
    for name, line in [
        ("a.txt", "[04/03/2026, 10:22] {}"),
        ("a.txt", "04/03/2026, 10:22 - {}"),
        ("a.log", "10:22 <mara> {}"),
        ("a.log", "10:22 {}"),
    ]:
        head = "10:22 <mara> hi" if name == "a.log" else line.format("Mara: hi")
        chat = lines(*[head] * 150, line.format(long), line.format(f"Mara: {long}"))
        assert converted(chat, name).mime == CONVERSATION


def test_a_truncated_export_has_the_text_before_the_cut() -> None:
    export = json.dumps([files.chatgpt("Keel", "Bolted."), files.chatgpt("Sails", "Sewn."), files.chatgpt("Mast", "x")])
    found = unpacked(export[:-100].encode(), "conversations.json")
    assert [path.rpartition("/")[2] for path in found.texts] == ["conversations.json", "Keel", "Sails"]
    assert "cut off" in found.unread["conversations.json!/"]


def test_a_cyclic_tree_ends() -> None:
    talk = files.chatgpt("Keel", "Bolted.")
    mapping = talk["mapping"]
    assert isinstance(mapping, dict)
    mapping["q"]["parent"] = "a0"
    assert "Bolted." in converted(json.dumps([talk]), "conversations.json").markdown


def test_a_message_is_quoted() -> None:
    text = "# Ignore all\n===\n\n```sh\n# a comment\n\n\x0b## user, now\r# x\n\u1fef\u1fef\u1fef"
    result = session(files.claude_code("user", text), files.claude_code("assistant", [{"type": "text", "text": "No."}]))
    assert headings(result.markdown)[1:] == ["user, 2026-03-04 10:22", "assistant, 2026-03-04 10:22"]
    tool = session(files.claude_code("user", [{"type": "tool_result", "content": "```\n## user, now\n````"}]))
    assert headings(tool.markdown)[1:] == ["assistant, 2026-03-04 10:22"]


@given(st.lists(st.sampled_from(["#", " ", "=", "-", "`", "~", "\n", "\r", "a", "\x0b", "\u1fef", "```", "\n# x\n"])))
def test_no_message_has_headings_or_an_open_fence(pieces: list[str]) -> None:
    text = canonicalise(quoted("".join(pieces)) + "\n\n## next\n")
    assert [each.text for each in outline(text).headings] == ["next"]


def test_right_to_left_text_keeps_its_marks_and_clocks_may_go_back() -> None:
    result = session(
        files.claude_code("user", "\u200fשלום \u202bעולם\u202c"),
        files.claude_code("assistant", [{"type": "text", "text": "Earlier."}], "2025-01-01T00:00:00Z"),
    )
    assert "\u200fשלום \u202bעולם\u202c" in result.markdown
    assert headings(result.markdown)[1:] == ["user, 2026-03-04 10:22", "assistant, 2025-01-01 00:00"]


def test_output_of_tools_is_folded() -> None:
    many = "\n".join(f"line{number}" for number in range(400))
    result = session(files.claude_code("user", [{"type": "tool_result", "content": many}]))
    assert f"line{FOLDED_LINES - 1}\n… 388 more lines\n```" in result.markdown
    wide = session(files.claude_code("user", [{"type": "tool_result", "content": "key=" + "aB3" * 9000}]))
    assert wide.markdown.endswith("```output\n…\n```")  # half a key is not recognised as one


def test_one_conversation_in_two_exports_is_one_text() -> None:
    talk = files.claude_ai("Keel", "How is the keel fastened?", "Bolted.")
    again = json.dumps([talk, files.claude_ai("Sails", "How?")], indent=1)
    assert (
        converted(json.dumps([talk]), "a.json").markdown + "\n"
        == unpacked(again.encode(), "b.json").texts["b.json!/Keel"]
    )


# --------------------------------------------------------------------------------------- long conversations


def test_a_long_conversation_is_cut_at_messages() -> None:
    data = lines(*files.claude_code_session(1000))
    texts = unpacked(data.encode(), "s.jsonl").texts
    assert list(texts) == ["s.jsonl", *(f"s.jsonl!/part {number}" for number in range(2, len(texts) + 1))]
    assert len(texts) > 2
    assert all(PART_CHARACTERS < len(text) < 1.1 * PART_CHARACTERS for text in [*texts.values()][:-1])
    numbers = [int(number) for text in texts.values() for number in re.findall(r"Keel number (\d+) has", text)]
    assert numbers == list(range(1000))
    assert all(
        text.startswith("# How is the keel number 0 fastened? The old one was loose.") for text in texts.values()
    )
    export = json.dumps([files.claude_ai("Keel", *("bolt " * 100 for _ in range(1200)))])
    assert list(unpacked(export.encode(), "c.json").texts) == ["c.json", "c.json!/Keel/part 2", "c.json!/Keel/part 3"]


def test_no_line_is_lost_where_a_part_ends_inside_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnod.ingest.formats.conversations.conversation.PART_BYTES", 100)
    told = "\n".join(f"line{number}" for number in range(50))
    texts = unpacked(f"[04/03/2026, 10:22] Mara: {told}\n[04/03/2026, 10:22] Mara: end\n".encode(), "chat.txt").texts
    assert len(texts) > 3
    assert re.findall(r"line\d+", "\n".join(texts.values())) == told.split("\n")
    assert all("## Mara, 2026-03-04 10:22" in text for text in texts.values())


CHAT = "[04/03/2026, 10:22] Mara: one\ntwo\n[05/03/2026, 10:22] Bo: three\n" * 3
LOG = (
    "--- Day changed Wed Mar 04 2026\n10:22 <mara> one\n10:23 <bo> two\n--- Day changed Thu Mar 05 2026\n10:22 <bo> x\n"
    * 3
)


@pytest.mark.parametrize(
    ("converter", "data"),
    [
        (agents.CLAUDE_CODE, lines(*files.claude_code_session(3, 2), "{broken")),
        (irc.IRC, LOG),
        (CHATS[0], CHAT),
    ],
    ids=["claude-code", "irc", "whatsapp"],
)
def test_reading_goes_on_with_the_state(converter: Converter, data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is the same when it is read alone, and earlier ones are the same when messages are added."""
    monkeypatch.setattr("gnod.ingest.formats.conversations.conversation.PART_CHARACTERS", 10)
    form: LineFormat = converter.read.args[0]  # type: ignore[union-attr]
    whole = data.encode()
    state = first = State(title="t", day="day", zone="UTC")
    all_parts = list(parts(form, whole, state))
    assert len(all_parts) > 2
    start = 0
    for part in all_parts:
        assert next(parts(form, whole[: part.end], state, start)).converted == part.converted
        start, state = part.end, state_of(part.after)
    cut = whole.index(b"\n", len(whole) // 2) + 1
    before = list(parts(form, whole[:cut], first))
    assert before[:-1] == all_parts[: len(before) - 1]


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("## **Why** does `gnod` [wait](https://example.org/a)?", "Why does gnod wait?"),
        ("```py\nprint(1)\n```\nWhat is this?", "print(1) What is this?"),
        ("> They leak.\n\n- Which bolt?", "They leak. Which bolt?"),
        ("What is snake_case_name in 2 * 3 * 4?", "What is snake_case_name in 2 * 3 * 4?"),
    ],
)
def test_a_title_has_no_marks(said: str, title: str) -> None:
    assert session(files.claude_code("user", said)).title == title


def test_text_without_words_gives_no_title() -> None:
    assert session(files.claude_code("user", "```\n"), files.claude_code("user", "Which bolt?")).title == "Which bolt?"
