"""Samples of the conversation files of several programs, based on their public descriptions."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping

TIME = "2026-03-04T10:22:31.120Z"
SECONDS = 1772619751.12


def claude_code(role: str, content: object, time: str = TIME, **others: object) -> str:
    """Return a line of a transcript of Claude Code."""
    entry = {"parentUuid": None, "isSidechain": False, "cwd": "/home/mara/boat", "sessionId": "5e55", "version": "2.1"}
    message = {"role": role, "content": content}
    return json.dumps({**entry, "type": role, "uuid": "u1", "timestamp": time, "message": message, **others})


def claude_code_session(messages: int, lines_of_output: int = 100) -> Iterator[str]:
    """Yield the lines of a session: questions, tool calls with a long output, answers; about 8 KB each."""
    for number in range(messages):
        time = f"2026-03-{1 + number // 1440 % 28:02}T{number // 60 % 24:02}:{number % 60:02}:00.000Z"
        output = "\n".join(f"/srv/boat/file{line}.py: line {line} of {number}" for line in range(lines_of_output))
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"grep -rn keel{number} ."}}
        yield claude_code("user", f"How is the keel number {number} fastened? The old one was loose.", time)
        yield claude_code("assistant", [{"type": "text", "text": f"I look for keel{number}."}, call], time)
        yield claude_code("user", [{"type": "tool_result", "tool_use_id": "t1", "content": output}], time)
        answer = f"Keel number {number} has {number % 9} bolts. " + "They are tightened before each season. " * 10
        yield claude_code("assistant", [{"type": "text", "text": answer}], time)


def codex(kind: str, **payload: object) -> str:
    """Return a line of a transcript of Codex."""
    return json.dumps({"timestamp": TIME, "type": kind, "payload": payload})


def codex_session() -> list[str]:
    question = [{"type": "input_text", "text": "How is the keel fastened?"}]
    context = [{"type": "input_text", "text": "<environment_context><cwd>/x</cwd></environment_context>"}]
    return [
        codex("session_meta", id="1", cwd="/home/mara/boat", cli_version="0.46.0", instructions=None),
        codex("response_item", type="message", role="user", content=context),
        codex("response_item", type="message", role="user", content=question),
        codex("event_msg", type="user_message", message="How is the keel fastened?"),
        codex("response_item", type="reasoning", encrypted_content="gAAAA", summary=[]),
        codex("response_item", type="function_call", name="shell", arguments='{"command": "ls keel"}', call_id="c"),
        codex("response_item", type="function_call_output", call_id="c", output='{"output": "bolts.txt"}'),
        codex("response_item", type="message", role="assistant", content=[{"type": "output_text", "text": "Bolted."}]),
    ]


def chatgpt(title: str, *branches: str) -> dict[str, object]:
    """Return a conversation of ChatGPT with a question and several answers. ChatGPT showed the last one."""
    mapping: dict[str, object] = {"root": {"id": "root", "message": None, "parent": None, "children": ["q"]}}
    for name, parent, role, text in [
        ("q", "root", "user", "How is the keel fastened?"),
        *((f"a{number}", "q", "assistant", text) for number, text in enumerate(branches)),
    ]:
        content = {"content_type": "text", "parts": [text]}
        message = {"author": {"role": role}, "create_time": SECONDS, "content": content, "recipient": "all"}
        mapping[name] = {"id": name, "message": message, "parent": parent, "children": []}
    last = f"a{len(branches) - 1}"
    return {"title": title, "create_time": SECONDS, "mapping": mapping, "current_node": last, "id": title}


def claude_ai(name: str, *said: str) -> dict[str, object]:
    messages = [
        {
            "uuid": str(number),
            "text": text,
            "content": [{"type": "text", "text": text}],
            "sender": "assistant" if number % 2 else "human",
            "created_at": TIME,
            "attachments": [],
        }
        for number, text in enumerate(said)
    ]
    return {"uuid": "c1", "name": name, "created_at": TIME, "updated_at": TIME, "chat_messages": messages}


def gemini(*asked: str) -> list[dict[str, object]]:
    """Return the activity of two days, the newest first."""
    return [
        {
            "header": "Gemini Apps",
            "title": f"Prompted {text}",
            "time": f"2026-03-{5 - number % 2:02}T10:22:31.120Z",
            "products": ["Gemini Apps"],
            "safeHtmlItem": [{"html": f"<p>About <b>{text}</b></p>"}],
        }
        for number, text in enumerate(asked)
    ]


def gemini_page(*entries: tuple[str, str, str], product: str = "Gemini Apps") -> str:
    """Return the activity as a web page. Its entries have a question, the time as text, and an answer."""
    grid = "mdl-cell mdl-cell--12-col"
    body = '<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1'
    cells = [
        f'<div class="outer-cell {grid} mdl-shadow--2dp"><div class="mdl-grid"><div class="header-cell {grid}">'
        f'<p class="mdl-typography--title">{product}<br></p></div>{body}">{asked}<br>{time}<br>{said}</div>'
        f'{body} mdl-typography--text-right"></div><div class="content-cell {grid} mdl-typography--caption">'
        f"<b>Products:</b><br>&emsp;{product}<br></div></div></div>"
        for asked, time, said in entries
    ]
    style = ".mdl-grid { display: flex }\n" * 5000  # the real style sheet has this length
    return (
        f"<html><head><title>My Activity History</title><style>{style}</style></head>"
        f'<body><div class="mdl-grid">{"".join(cells)}</div></body></html>'
    )


def slack_message(text: str, user: str = "U1", **others: object) -> dict[str, object]:
    return {"type": "message", "user": user, "text": text, "ts": f"{SECONDS:.6f}", **others}


def slack(days: dict[str, str]) -> bytes:
    """Return an export with a file for each day: the text by path."""
    users = [{"id": "U1", "name": "mara", "profile": {"real_name": "Mara"}}, {"id": "U2", "name": "bo"}]
    places = {
        "users.json": users,
        "channels.json": [{"id": "C1", "name": "keel", "members": ["U1", "U2"]}],
        "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in {**{name: json.dumps(value) for name, value in places.items()}, **days}.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def matrix(*events: Mapping[str, object]) -> dict[str, object]:
    return {"room_name": "Keel", "room_creator": "@mara:example.org", "messages": list(events)}


def matrix_event(
    body: str, sender: str = "@mara:example.org", content: Mapping[str, object] | None = None
) -> dict[str, object]:
    return {
        "type": "m.room.message",
        "event_id": f"${body}",
        "sender": sender,
        "origin_server_ts": int(SECONDS * 1000),
        "content": {"msgtype": "m.text", "body": body, **(content or {})},
    }


def teams(*said: tuple[str, str]) -> dict[str, object]:
    """Return messages in the form of Microsoft Graph, the newest first."""
    messages = [
        {
            "id": str(number),
            "messageType": "message",
            "createdDateTime": f"2026-03-04T10:{22 + number}:31.120Z",
            "chatId": "19:keel",
            "from": {"user": {"displayName": name}},
            "body": {"contentType": "html", "content": f"<p>{text}</p>"},
        }
        for number, (name, text) in enumerate(said)
    ]
    return {"@odata.context": "https://graph.microsoft.com/v1.0/$metadata", "value": messages[::-1]}


def skype(*said: tuple[str, str]) -> dict[str, object]:
    """Return the `messages.json` of a personal Teams or Skype account."""
    messages = [
        {"id": "1", "displayName": name, "originalarrivaltime": TIME, "messagetype": "RichText", "content": text}
        for name, text in said
    ]
    talk = {"id": "19:keel", "displayName": None, "threadProperties": {"topic": "Keel"}, "MessageList": messages}
    return {"userId": "8:live:mara", "exportDate": "2026-03-05T00:00", "conversations": [talk]}
