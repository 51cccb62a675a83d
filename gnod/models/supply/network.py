"""The environment variables for downloads: which forbid them, and which the fetching child gets.

Their values are never logged or shown: some are tokens and passwords.
"""

from __future__ import annotations

from collections.abc import Mapping

from gnod.errors import Offline

_OFF = frozenset({"", "0", "false", "no", "off"})


def offline_variable(environment: Mapping[str, str]) -> str | None:
    """Return the name of the variable that forbids downloads; None when they are allowed."""
    for name in ("GNO_OFFLINE", "HF_HUB_OFFLINE"):
        if environment.get(name, "").strip().lower() not in _OFF:
            return name
    return None


def offline(uri: str, environment: Mapping[str, str]) -> Offline:
    """Return the error for a download that a variable forbids."""
    name = offline_variable(environment) or "HF_HUB_OFFLINE"
    text = f"{uri} must be downloaded, and {name} forbids that: set {name}=0 and try again"
    return Offline(text, {"uri": uri, "variable": name})


def for_child(network: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a client's download adds to the daemon's environment.

    Each proxy in both spellings: the lower-case one counts, and the daemon's must not override the client's.

    >>> for_child({"HTTPS_PROXY": "http://a"})["https_proxy"]
    'http://a'
    """
    twins = {name.swapcase(): value for name, value in network.items() if name.lower().endswith("_proxy")}
    return {**twins, **network}
