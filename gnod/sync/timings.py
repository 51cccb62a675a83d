"""How long the parts of watching and syncing wait. Tests shorten what they would only wait for."""

from __future__ import annotations

from typing import NamedTuple


class SyncTimings(NamedTuple):
    """All values are in seconds, except the two ratios."""

    # Sync a burst of events when it has been quiet for this time, or has lasted this long.
    quiet_s: float = 0.04
    longest_burst_s: float = 0.25
    # Rest in proportion to the work before syncing the same paths again: a file that is written all the time must not
    # keep a core busy.
    rest_per_work: float = 2.0
    longest_rest_s: float = 10.0
    rest_after_failure_s: float = 10.0
    # Check roots, due walks and the clocks this often.
    check_every_s: float = 3.0
    # The process or the machine was suspended if a check comes this much too late, or if clocks differ by this much.
    stood_still_s: float = 5.0
    # Walk a folder without events this often, but for at most a twentieth of the time.
    poll_s: float = 5.0
    polls_per_work: float = 20.0
    # Try again after this time: a limit of the system may have been raised, or a folder may be readable again.
    retry_events_s: float = 600.0
    retry_root_s: float = 60.0
