"""Publish a collection in a process that may be killed: python -m … INDEX LEDGER PORT COLLECTION"""

from __future__ import annotations

import sys
from pathlib import Path

from gnod.config.shared_addresses import parse
from gnod.shared.milvus.engine import MilvusEngine
from tests.shared.milvus_server import connect_to
from tests.shared.published import Published
from tests.small_index import SmallIndex


def main(index: str, ledger: str, port: str, collection: str) -> None:
    address = parse(f"milvus://127.0.0.1:{port}/team/{collection}")
    published = Published(SmallIndex(Path(index)), MilvusEngine(connect_to(address)), Path(ledger))
    say("begins")
    published.sync()
    say("ended")


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
