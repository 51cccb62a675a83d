"""When background work should wait, and why, in words for people: the battery, the disk.

Knows nothing of the work itself. What can be told only with effort, or not at all, speaks against nothing.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil

# How often to look again whether a reason is gone.
LOOK_AGAIN_S = 20.0
_LOW_BATTERY_PERCENT = 15
_LOW_DISK = 0.01


def low_battery(*, may_use_battery: bool) -> str | None:
    """Say why nothing that takes much power should be done now; None where nothing speaks against it.

    `may_use_battery`: somebody wants the work done on the battery too, which then must not be nearly empty.
    """
    if not hasattr(psutil, "sensors_battery"):
        return None
    try:
        battery = psutil.sensors_battery()
    except (OSError, psutil.Error):
        return None
    if battery is None or battery.power_plugged is not False:
        return None
    if not may_use_battery:
        return "the machine runs on its battery"
    if battery.percent < _LOW_BATTERY_PERCENT:
        return f"the battery is low ({battery.percent:.0f} %): work goes on when it is charged"
    return None


def low_disk(folder: Path) -> str | None:
    """Say why nothing more should be written into a folder; None while at least 1 % of its file system is free."""
    try:
        disk = shutil.disk_usage(folder)
    except OSError:
        return None
    if disk.free >= disk.total * _LOW_DISK:
        return None
    return f"less than 1 % of the disk that holds {folder} is free: work goes on when there is more"
