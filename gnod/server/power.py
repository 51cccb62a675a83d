"""Whether the machine runs on its battery."""

from __future__ import annotations

import psutil


def on_battery() -> bool:
    """Return False where there is no battery, and where it cannot be told."""
    if not hasattr(psutil, "sensors_battery"):
        return False
    try:
        battery = psutil.sensors_battery()
    except (OSError, psutil.Error):
        return False
    return battery is not None and battery.power_plugged is False
