"""The sandbox of macOS: a profile for sandbox_init(3), which Apple calls deprecated, and which browsers use.

Nobody has tried it on a Mac yet (docs/macos.md), so it forbids only what no converter needs. Reading is not limited:
one path in another spelling than the system's would make a whole collection unreadable.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from gnod.child.system_calls import NotHeld

# The last rule that matches decides. Other processes are reached by signals, and through the services of Mach, of which
# drawing a page needs fonts, and the C library names of users and changes of the time zone.
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
    """Give up what the rules forbid, for good. Returns what is enforced, in words. Raises NotHeld."""
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
    """Return the rules, with a folder in which plain files may be written."""
    if writable is None:
        return _RULES
    # The system compares with the real path: /var is a link to /private/var.
    folder = os.path.realpath(writable).replace("\\", "\\\\").replace('"', '\\"')
    return f'{_RULES}(allow file-write* (subpath "{folder}"))\n(deny file-write-create (vnode-type SYMLINK))\n'
