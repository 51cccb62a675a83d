"""Transcripts of agents, in the form that Claude Code writes. Made up, as all their words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

BEGUN = datetime(2026, 3, 4, 10, tzinfo=UTC)


def said(text: str, role: str = "user", minute: int = 0, place: str = "/work/harbour") -> bytes:
    """Return the line of a message."""
    blocks: object = text if role == "user" else [{"type": "text", "text": text}]
    return _line(role, blocks, minute, place)


def answered(text: str, minute: int = 0, place: str = "/work/harbour") -> bytes:
    """Return the line of what a tool answered."""
    return _line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": text}], minute, place)


def _line(role: str, content: object, minute: int, place: str) -> bytes:
    time = (BEGUN + timedelta(minutes=minute)).isoformat().replace("+00:00", ".000Z")
    return (
        msgspec.json.encode(
            {
                "parentUuid": None,
                "sessionId": "s1",
                "uuid": f"u{minute}",
                "cwd": place,
                "type": role,
                "timestamp": time,
                "message": {"role": role, "content": content},
            }
        )
        + b"\n"
    )
