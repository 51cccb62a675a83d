"""The converters of conversations, in the order in which their signatures are checked."""

from __future__ import annotations

from gnod.ingest.formats.conversations import chat_text, teams
from gnod.ingest.formats.conversations.chatgpt import CHATGPT
from gnod.ingest.formats.conversations.claude_ai import CLAUDE_AI
from gnod.ingest.formats.conversations.claude_code import CLAUDE_CODE
from gnod.ingest.formats.conversations.codex import CODEX
from gnod.ingest.formats.conversations.gemini import GEMINI, GEMINI_PAGE
from gnod.ingest.formats.conversations.irc import IRC
from gnod.ingest.formats.conversations.matrix import MATRIX
from gnod.ingest.formats.conversations.slack import SLACK, SLACK_DAY

__all__ = ["FORMATS", "SLACK"]

FORMATS = (
    CLAUDE_CODE,
    CODEX,
    CHATGPT,
    CLAUDE_AI,
    GEMINI,
    GEMINI_PAGE,
    SLACK_DAY,
    *teams.FORMATS,
    MATRIX,
    *chat_text.FORMATS,
    IRC,
)
