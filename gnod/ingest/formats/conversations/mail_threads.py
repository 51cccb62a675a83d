"""Groups the mails of a mailbox into conversations by the mails that they refer to, or else by subject. Pure: it only
reads headers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

_LONGEST_SUBJECT = 300
_IDENTIFIER = re.compile(r"<[^<>\s]+>")
# Mail programs put these words, in the user's language, before the subject of a reply or a forwarded mail.
_REPLY_WORDS = (
    *("re", "aw", "antw", "antwort", "sv", "vs", "ref", "rif", "res", "rv", "rép", "tr", "odp", "pd", "ynt", "ilt"),
    *("atb", "bls", "vá", "vl", "vb", "wg", "fw", "fwd", "enc", "doorst", "回复", "答复", "回覆", "转发", "轉寄"),
)
_REPLY = re.compile(
    r"(?P<tags>(?:\[[^\]]*\]\s*)*)"
    rf"(?:(?:{'|'.join(_REPLY_WORDS)})\s?(?:\[\d+\]|\(\d+\)|\^\d+)?\s?[:：]\s*)+",
    re.IGNORECASE,
)


class MailHeader(NamedTuple):
    """The unparsed fields. `time` is sortable; "" if unknown."""

    identifier: str
    references: str
    in_reply_to: str
    subject: str
    time: str


def threads(headers: Sequence[MailHeader]) -> list[list[int]]:
    """Return the indices of the mails of each thread, oldest first."""
    above: dict[str, str] = {}  # union-find: leads from an identifier to the one that represents its group
    latest: dict[str, str] = {}  # the newest mail with a subject
    owners: dict[str, str] = {}  # the subject of the mail that has an identifier
    found: defaultdict[str, list[int]] = defaultdict(list)
    order = _oldest_first(headers)
    for place in order:
        header, mail = headers[place], str(place)
        subject, named = base_subject(header.subject).casefold(), _named(header)
        for identifier in _IDENTIFIER.findall(header.identifier)[:1]:
            # Some devices give the same identifier to all their mails.
            named += [identifier] if owners.setdefault(identifier, subject) == subject else []
        if not _named(header) and is_reply(header.subject) and subject in latest:
            named.append(latest[subject])
        for name in named:
            above[_top(above, name)] = _top(above, mail)
        if subject:
            latest[subject] = mail
    for place in order:
        found[_top(above, str(place))].append(place)
    return list(found.values())


def _top(above: dict[str, str], name: str) -> str:
    while (higher := above.get(name, name)) != name:
        above[name] = above.get(higher, higher)  # path compression
        name = higher
    return name


def _oldest_first(headers: Sequence[MailHeader]) -> list[int]:
    """Return the indices of the mails, sorted by time. A mail without a time stays behind the mail before it."""
    times, last = [], ""
    for header in headers:
        last = header.time or last
        times.append(last)
    return sorted(range(len(headers)), key=times.__getitem__)


def _named(header: MailHeader) -> list[str]:
    """Return the identifiers of the mails before this one. A mail address in the text of In-Reply-To does not count."""
    answered = _IDENTIFIER.match(header.in_reply_to.strip())
    return [*_IDENTIFIER.findall(header.references), *([answered[0]] if answered else [])]


def is_reply(subject: str) -> bool:
    return _REPLY.match(subject.strip()) is not None


def base_subject(subject: str) -> str:
    """Return a subject without reply words such as "Re:". The tags of mailing lists stay.

    >>> base_subject("AW: [boat] Re[2]: Fwd: The  keel")
    '[boat] The keel'
    """
    subject = " ".join(subject[:_LONGEST_SUBJECT].split())
    while found := _REPLY.match(subject):
        subject = found["tags"] + subject[found.end() :]
    return subject
