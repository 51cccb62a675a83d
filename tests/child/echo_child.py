"""A child for the tests of `gnod.child.process`: gives back each message, and does what some of them say."""

from __future__ import annotations

import logging
import os
import resource
import socket
import sys
import time
import warnings

import msgspec

from gnod.child.frames import encode, receive
from gnod.child.settle import settle, silence


def main(arguments: list[str]) -> int:
    descriptor, nice, parent = map(int, arguments)
    with socket.socket(fileno=descriptor) as channel:
        channel.setblocking(True)
        settle(parent, nice=nice)
        silence()
        while (message := receive(channel, msgspec.msgpack.Decoder(str))) is not None:
            channel.sendall(encode(facts() if message == "facts" else message))
            if message.startswith("exit "):
                return int(message.removeprefix("exit "))
            if message == "be deaf":
                time.sleep(600)
    return 0


def facts() -> dict[str, object]:
    """Make noise, and tell what this process finds itself in."""
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
