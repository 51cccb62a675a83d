"""The environment that downloads obey: which variables switch them off, and what the fetching child is given.

The values are never logged and never shown: there are tokens and passwords among them.
"""

from __future__ import annotations

from collections.abc import Mapping

from gnod.errors import Offline

_OFF = frozenset({"", "0", "false", "no", "off"})

# Xet knows no mirror and keeps a second copy; the others draw on a terminal that is not there, or call home.
_FIXED = {
    "HF_HUB_DISABLE_XET": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}


def offline_variable(environment: Mapping[str, str]) -> str | None:
    """Return the name of the variable that forbids downloads; None when they are allowed."""
    for name in ("GNO_OFFLINE", "HF_HUB_OFFLINE"):
        if environment.get(name, "").strip().lower() not in _OFF:
            return name
    return None


def offline(uri: str, environment: Mapping[str, str]) -> Offline:
    """Return the error for a download that a variable forbids."""
    name = offline_variable(environment) or "HF_HUB_OFFLINE"
    return Offline(f"{uri} would have to be downloaded, and {name} forbids that: set {name}=0 and try again",
                   {"uri": uri, "variable": name})  # fmt: skip


def for_child(network: Mapping[str, str]) -> dict[str, str]:
    """Return what is added to the daemon's own environment for a download that a client asked for.

    Proxies are known in two spellings, and the lower-case one counts: a client's must not lose to the daemon's.

    >>> for_child({"HTTPS_PROXY": "http://a"})["https_proxy"]
    'http://a'
    """
    twins = {name.swapcase(): value for name, value in network.items() if name.lower().endswith("_proxy")}
    return {**twins, **network, **_FIXED}
