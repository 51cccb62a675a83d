"""A child process for the tests of `gnod.child.process`: echoes each message and executes some of them."""

from __future__ import annotations

import logging
import os
import resource
import socket
import sys
import time
import warnings

import msgspec

from gnod.child.child_setup import set_up_child, silence
from gnod.child.frames import encode, receive


def main(arguments: list[str]) -> int:
    descriptor, nice, parent = map(int, arguments)
    with socket.socket(fileno=descriptor) as channel:
        channel.setblocking(True)
        set_up_child(parent, nice=nice)
        silence()
        while (message := receive(channel, msgspec.msgpack.Decoder(str))) is not None:
            channel.sendall(encode(facts() if message == "facts" else message))
            if message.startswith("exit "):
                return int(message.removeprefix("exit "))
            if message == "sleep":
                time.sleep(600)
    return 0


def facts() -> dict[str, object]:
    """Write to all outputs, and return the state of this process."""
    print("noise")  # noqa: T201
    sys.stderr.write("noise\n")
    logging.getLogger().critical("noise")
    warnings.warn("noise", stacklevel=1)
    return {
        "folder": os.getcwd(),  # noqa: PTH109
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "core": list(resource.getrlimit(resource.RLIMIT_CORE)),
        "leads_session": os.getsid(0) == os.getpid(),
        "safe_path": sys.flags.safe_path,
        "word": os.environ.get("ECHO_WORD"),
        "home": os.environ.get("HOME"),
        "asyncio": "asyncio" in sys.modules,
        "input": sys.stdin.read(),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
