"""Reads Slack exports: a zip archive with a folder for each channel and a file for each day, or one such file."""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath

from gnod.ingest.formats.conversations.conversation import ChatMessage
from gnod.ingest.formats.conversations.exports import Conversation, container, export_converter, moment
from gnod.ingest.formats.conversations.rendering import one_line
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.json_values import listed, loads, mapping, string
from gnod.ingest.reading.result import CONVERSATION, Converted
from gnod.ingest.reading.unpacking import UNREADABLE_MEMBER, check_depth, check_unpacked

Names = Mapping[str, str]

_SOURCE = "Slack"
_USERS = ("users.json", "org_users.json")
_PLACES = ("channels.json", "groups.json", "mpims.json", "dms.json")
_DAY = re.compile(r"(?P<folder>[^/]+)/\d{4}-\d\d-\d\d\.json\Z")
_JOINS = frozenset({"channel_join", "channel_leave", "group_join", "group_leave", "bot_add", "bot_remove"})
_REFERENCE = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|\n]{1,2000})(?:\|(?P<label>[^<>\n]{0,2000}))?>")


def _resembles(content: FileContent) -> bool:
    names = {PurePosixPath(name).name for name in content.zip_members or ()} if content.is_zip else set()
    is_export = not names.isdisjoint(_USERS) and not names.isdisjoint(_PLACES)
    return is_export and any(_DAY.search(name) for name in content.zip_members or ())


def _read_zip(content: FileContent) -> Converted:
    check_depth(content)
    days: dict[str, list[str]] = defaultdict(list)
    for name in sorted(file.filename for file in check_unpacked(content)):
        if day := _DAY.search(name):
            days[day["folder"]].append(name)
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        users = _users(archive)
        places = _places(archive, users)
    return container(_SOURCE, content, [_channel(content, users, places.get(name, name), days[name]) for name in days])


def _channel(content: FileContent, users: Names, place: str, days: Sequence[str]) -> Conversation:
    return Conversation(title=place, place=place, messages=partial(_of_days, content, users, days))


def _of_days(content: FileContent, users: Names, days: Sequence[str]) -> Iterator[ChatMessage]:
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        for day in days:
            if found := listed(_value(archive, day)):
                yield from _messages(found, users)
            else:
                yield ChatMessage(speaker=_SOURCE, time="", text=f"[{day} could not be read]")


def _value(archive: zipfile.ZipFile, name: str) -> object:
    """Return the value of a JSON file; None if it cannot be read."""
    try:
        return loads(archive.read(name))
    except (*UNREADABLE_MEMBER, RecursionError):
        return None


def _users(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the names of users by id."""
    found = [mapping(user) for name in _named(archive, _USERS) for user in listed(_value(archive, name))]
    return {string(user.get("id")): _name(user) for user in found}


def _name(user: dict[str, object]) -> str:
    profile = mapping(user.get("profile"))
    names = (profile.get("display_name"), profile.get("real_name"), user.get("real_name"), user.get("name"))
    return next(filter(None, map(string, names)), string(user.get("id")))


def _places(archive: zipfile.ZipFile, users: Names) -> dict[str, str]:
    """Return the name of the conversation in each folder: `#general`, or the names of the participants."""
    places = {}
    for place in (mapping(found) for name in _named(archive, _PLACES) for found in listed(_value(archive, name))):
        name = string(place.get("name"))
        members = [users.get(member, member) for member in map(string, listed(place.get("members")))]
        is_direct = not name or name.startswith("mpdm-")
        places[name or string(place.get("id"))] = ", ".join(members) if is_direct and members else f"#{name}"
    return places


def _named(archive: zipfile.ZipFile, names: Sequence[str]) -> list[str]:
    return [path for path in archive.namelist() if PurePosixPath(path).name in names]


def _of_one_day(objects: list[dict[str, object]], path: PurePosixPath) -> Iterator[Conversation]:
    """Read the unpacked file of a day. It contains the names of those who wrote on that day."""
    if messages := [message for message in objects if message.get("type") == "message" and "ts" in message]:
        users = {string(message.get("user")): _name(mapping(message.get("user_profile"))) for message in messages}
        place, day = f"#{path.parent.name or 'slack'}", moment(messages[0].get("ts"))[:10]
        known = {user: name for user, name in users.items() if name}
        yield Conversation(title=f"{place}, {day}", place=place, messages=partial(_messages, messages, known))


def _messages(found: Sequence[object], users: Names) -> Iterator[ChatMessage]:
    for message in map(mapping, found):
        if message.get("subtype") in _JOINS or not (text := _text(message, users)).strip():
            continue
        user = string(message.get("user"))
        speaker = (
            users.get(user) or _name(mapping(message.get("user_profile"))) or string(message.get("username")) or user
        )
        yield ChatMessage(speaker=speaker or "bot", time=moment(message.get("ts")), text=text)


def _text(message: dict[str, object], users: Names) -> str:
    texts = [string(message.get("text"))]
    texts += [string(mapping(attachment).get("text")) for attachment in listed(message.get("attachments"))]
    shown = [_plain(text, users) for text in texts if text.strip()]
    files = [one_line(string(mapping(file).get("name"))) for file in listed(message.get("files"))]
    return "\n\n".join([*shown, *(f"[file left out: {name}]" for name in files)])


def _plain(text: str, users: Names) -> str:
    """Return a text with names instead of identifiers.

    >>> _plain("<@U1> &lt;3 <#C1|general> <https://a.example|a page>", {"U1": "Mara"})
    '@Mara <3 #general [a page](https://a.example)'
    """
    return html.unescape(_REFERENCE.sub(partial(_reference, users), text))


def _reference(users: Names, found: re.Match[str]) -> str:
    sign, target, label = found["sign"], found["target"], found["label"]
    if sign:
        return ("#" if sign == "#" else "@") + (label or users.get(target, target)).lstrip("@#")
    return f"[{label}]({target})" if label and label != target else target


SLACK = Converter(
    label="a Slack export",
    mime=CONVERSATION,
    signature=_resembles,
    read=_read_zip,
    headings=True,
    location="message",
    remark="each channel is a document",
)
SLACK_DAY = export_converter(
    _SOURCE,
    "a day of a Slack channel",
    _of_one_day,
    rb'"type"\s*:\s*"message"',
    rb'"ts"\s*:\s*"\d{9,}\.\d{3,}"',
    rb'"(?:user|bot_id)"\s*:',
)
