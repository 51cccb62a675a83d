"""The environment variables for downloads: which forbid them, and which the fetching child gets.

Their values are never logged or shown: some are tokens and passwords.
"""

from __future__ import annotations

from collections.abc import Mapping

from gnod.errors import Offline

_OFF = frozenset({"", "0", "false", "no", "off"})


def require(uri: str, environment: Mapping[str, str]) -> None:
    """Raise Offline if a variable forbids the download."""
    for name in ("GNO_OFFLINE", "HF_HUB_OFFLINE"):
        if environment.get(name, "").strip().lower() not in _OFF:
            text = f"{uri} must be downloaded, and {name} forbids that: set {name}=0 and try again"
            raise Offline(text, {"uri": uri, "variable": name})


def for_child(network: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a client's download adds to the daemon's environment.

    Each proxy in both spellings: the lower-case one counts, and the daemon's must not override the client's.

    >>> for_child({"HTTPS_PROXY": "http://a"})["https_proxy"]
    'http://a'
    """
    twins = {name.swapcase(): value for name, value in network.items() if name.lower().endswith("_proxy")}
    return {**twins, **network}
