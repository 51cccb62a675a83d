"""Reasons for background work to wait: battery and disk. This module must not depend on the work. Unknown values are no
reason to wait.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil

# The interval for checking whether a reason is gone.
CHECK_AGAIN_S = 20.0
_LOW_BATTERY_PERCENT = 15
_LOW_DISK = 0.01


def reason_to_wait(folder: Path, *, may_use_battery: bool) -> str | None:
    """Return why work that writes into a folder should wait, or None."""
    return low_battery(may_use_battery=may_use_battery) or low_disk(folder)


def low_battery(*, may_use_battery: bool) -> str | None:
    """Return why work should wait for the battery, or None. With `may_use_battery`, only a low charge is a reason."""
    if not hasattr(psutil, "sensors_battery"):
        return None
    try:
        battery = psutil.sensors_battery()
    except (OSError, psutil.Error):
        return None
    if battery is None or battery.power_plugged is not False:
        return None
    if not may_use_battery:
        return "the machine runs on battery"
    if battery.percent < _LOW_BATTERY_PERCENT:
        return f"the battery is low ({battery.percent:.0f} %): work continues when it is charged"
    return None


def low_disk(folder: Path) -> str | None:
    """Return why nothing should be written into a folder; None if at least 1 % of its file system is free."""
    try:
        disk = shutil.disk_usage(folder)
    except OSError:
        return None
    if disk.free >= disk.total * _LOW_DISK:
        return None
    return f"less than 1 % of the disk that holds {folder} is free: work continues when there is more"
