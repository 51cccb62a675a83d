"""How long the parts of watching and syncing wait. Tests shorten what they would only wait for."""

from __future__ import annotations

from typing import NamedTuple


class SyncTimings(NamedTuple):
    """In seconds, except for the two ratios."""

    # A burst of events is synced when it has been quiet for a moment, or has lasted a while.
    quiet_s: float = 0.04
    longest_burst_s: float = 0.25
    # Rest in proportion to the work before the same paths are synced again: a file that is written all the time must
    # not keep a core busy.
    rest_per_work: float = 2.0
    longest_rest_s: float = 10.0
    rest_after_failure_s: float = 10.0
    # How often roots, due walks and the clocks are checked.
    check_every_s: float = 3.0
    # A check that comes this much too late, or clocks that differ by this much: the process or the machine stood still.
    stood_still_s: float = 5.0
    # Without events the folder is walked this often, and never for more than a twentieth of the time.
    poll_s: float = 5.0
    polls_per_work: float = 20.0
    # A limit of the system may have been raised; a folder may be readable again without having been replaced.
    retry_events_s: float = 600.0
    retry_root_s: float = 60.0
