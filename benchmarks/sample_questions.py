"""Questions about the folder samples/ with their answers, for the daemon's tests and a benchmark."""

from __future__ import annotations

from typing import NamedTuple


class Asked(NamedTuple):
    """`holds`: a part of the first quote; empty if the documents have no answer. `line`: the line of the quote; None if
    the format has no lines. `is_sure`: the confidence reaches the threshold; otherwise the right quote is marked."""

    question: str
    path: str = ""
    line: int | None = None
    holds: str = ""
    is_sure: bool = True


ANSWERED = (
    Asked("what does error F28 mean", "household/heating.md", 6, "did not ignite"),
    Asked("which days do we deploy", "docs/how-we-deploy.md", 11, "between Monday and Thursday"),
    Asked("how often is a backup restored", "meetings/2026-10-12-retrospective.md", 10, "first Monday of each month"),
    Asked("who answers info@harbour.example in October", "meetings/2026-09-14-planning.md", 9, "Mara until the 15th"),
    Asked("how many boats want winter storage", "meetings/2026-09-14-planning.md", 5, "41 boats"),
    Asked("what do I do when the pump lamp blinks", "household/washing-machine.html", None, "Empty the lint trap"),
    Asked("when was the boiler last serviced", "household/heating.md", 9, "3 November 2025"),
    Asked("what does the crane cost this year", "meetings/2026-09-14-planning.md", 7, "2,350 €"),
    Asked("how many attempts does retry_with_backoff make", "code/backoff.py", 20, "attempts: int = 5", is_sure=False),
    Asked("wie lange muss die Suppe köcheln", "recipes/kartoffelsuppe.md", 11, "zwanzig Minuten", is_sure=False),
    Asked("帰りの電車は何時", "travel/kyoto.md", 15, "十七時"),
)

# The documents do not answer these.
NOT_ANSWERED = (
    Asked("who is the mayor of the town"),
    Asked("what is the password of the wireless network"),
    Asked("how many members does the club have"),
)
