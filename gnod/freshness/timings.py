"""Define how long the parts of watching and syncing wait, on all systems. Tests shorten some of these times.

On Linux, every event is reported at once, and `quiet_s` decides when a burst is over. Elsewhere, gnod polls watchfiles
for events in steps, so it notices a save up to one step later; after that, the same times apply.
"""

from __future__ import annotations

from typing import NamedTuple

# gnod polls watchfiles in these steps (each poll is a wake-up), for this long after an event and otherwise.
PORTABLE_ACTIVE_S = 60.0
PORTABLE_STEP_S = 0.2
PORTABLE_IDLE_STEP_S = 1.0
# watchfiles does not report lost events, so gnod compares folders with the index at this interval. A comparison of
# 20,000 files takes 0.14 s of CPU time: less than two seconds an hour. Larger folders are compared less often.
PORTABLE_COMPLETE_FOR_S = 300.0
RESCANS_PER_WORK = 200.0
# The time limit for the update command of a collection.
UPDATE_COMMAND_S = 600.0
# The time between two regular walks of a folder varies by up to this share, so that folders take turns.
RESCAN_SPREAD = 0.25


class SyncTimings(NamedTuple):
    """All values are in seconds, except the ratios."""

    # Sync a burst of events when no event has come for this time, or when the burst has lasted this long.
    quiet_s: float = 0.04
    longest_burst_s: float = 0.25
    # Before syncing the same paths again, wait in proportion to the work: a file that a program writes constantly must
    # not keep a core busy.
    rest_per_work: float = 2.0
    longest_rest_s: float = 10.0
    rest_after_failure_s: float = 10.0
    # The interval of the checks of roots, due walks, clocks and the socket.
    check_every_s: float = 2.0
    # The process or the machine was suspended if a check is late by this time, or if the clocks differ by it.
    stood_still_s: float = 5.0
    # Walk a folder without events at this interval, but for at most a twentieth of the time. If the folder has not
    # changed for hours, the interval grows to a tenth of that time, up to the longest time.
    poll_s: float = 5.0
    longest_poll_s: float = 300.0
    polls_per_work: float = 20.0
    polls_per_rest: float = 10.0
    # Try again after this time: the user may have raised a limit of the system, or a folder may be readable again.
    retry_events_s: float = 600.0
    retry_root_s: float = 60.0
