"""The sandbox of macOS: a profile for sandbox_init(3), which Apple calls deprecated but browsers use.

It is untested on a Mac (docs/macos.md), so it forbids only what no converter needs. Reading is not limited: a path
spelled differently from the system's would make a whole collection unreadable.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from gnod.child.system_calls import NotHeld

# The last matching rule decides. Processes reach other processes by signals and through Mach services. Drawing a page
# needs the service for fonts; the C library needs those for user names and time zone changes.
_RULES = """
(version 1)
(allow default)
(deny network*)
(deny process-exec*)
(deny process-fork)
(deny mach-lookup)
(allow mach-lookup (global-name "com.apple.fonts") (global-name "com.apple.FontObjectsServer"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.notification_center"))
(deny signal)
(allow signal (target self))
(deny file-write*)
(allow file-write* (literal "/dev/null"))
"""
_HOLDS = ["writing", "network", "programs", "other processes"]


def confine(writable: str | None, library: Any = None) -> list[str]:
    """Permanently give up what the rules forbid. Returns what is enforced, in words. Raises NotHeld."""
    library = library or ctypes.CDLL(None)
    reason = ctypes.byref(ctypes.c_char_p())
    try:
        refused = library.sandbox_init(os.fsencode(profile(writable)), ctypes.c_uint64(0), reason)
    except AttributeError:
        raise NotHeld("this system has no sandbox_init") from None
    if refused:
        raise NotHeld("the system refuses the profile")
    return _HOLDS


def profile(writable: str | None) -> str:
    """Return the rules, with `writable` as a folder for regular files."""
    if writable is None:
        return _RULES
    # The system compares real paths: /var is a link to /private/var.
    folder = os.path.realpath(writable).replace("\\", "\\\\").replace('"', '\\"')
    return f'{_RULES}(allow file-write* (subpath "{folder}"))\n(deny file-write-create (vnode-type SYMLINK))\n'
