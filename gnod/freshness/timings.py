"""How long the parts of watching and syncing wait, on all systems. Tests shorten what they would only wait for.

On Linux every event is reported at once, and `quiet_s` decides when a burst is over. Elsewhere watchfiles is asked for
events in steps, so a save is found later by up to one step; then the same times apply.
"""

from __future__ import annotations

from typing import NamedTuple

# How often watchfiles is asked for events (each time is a wake-up): this long after an event, and otherwise.
PORTABLE_ACTIVE_S = 60.0
PORTABLE_STEP_S = 0.2
PORTABLE_IDLE_STEP_S = 1.0
# watchfiles does not report that events were lost. To compare 20,000 files takes 0.14 s of a processor: less than two
# seconds an hour. A larger folder is compared less often.
PORTABLE_COMPLETE_FOR_S = 300.0
RESCANS_PER_WORK = 200.0
# How long the update command of a collection may take.
UPDATE_COMMAND_S = 600.0
# The time between two regular walks of a folder is longer or shorter by up to this share, so that folders take turns.
RESCAN_SPREAD = 0.25


class SyncTimings(NamedTuple):
    """All values are in seconds, except the ratios."""

    # Sync a burst of events when it has been quiet for this time, or has lasted this long.
    quiet_s: float = 0.04
    longest_burst_s: float = 0.25
    # Rest in proportion to the work before syncing the same paths again: a file that is written all the time must not
    # keep a core busy.
    rest_per_work: float = 2.0
    longest_rest_s: float = 10.0
    rest_after_failure_s: float = 10.0
    # Check roots, due walks and the clocks this often; the socket is checked at the same times.
    check_every_s: float = 2.0
    # The process or the machine was suspended if a check comes this much too late, or if clocks differ by this much.
    stood_still_s: float = 5.0
    # Walk a folder without events this often, but for at most a twentieth of the time. After hours without a change,
    # walk it less often: a change waits for a tenth of the time that there was none, until the longest time.
    poll_s: float = 5.0
    longest_poll_s: float = 300.0
    polls_per_work: float = 20.0
    polls_per_rest: float = 10.0
    # Try again after this time: a limit of the system may have been raised, or a folder may be readable again.
    retry_events_s: float = 600.0
    retry_root_s: float = 60.0
