"""Write documents with postings until this process is killed. Its argument is the database."""

from __future__ import annotations

import random
import sys
from itertools import count
from pathlib import Path

from tests.store.followed import Index


def main() -> None:
    index = Index(Path(sys.argv[1]), uses_process=True)
    rng = random.Random()
    for number in count():
        index.add(*(f"{rng.randrange(200)}.md" for _ in range(rng.choice([1, 5, 40]))), text=f"red {number}")
        index.remove(f"{rng.randrange(200)}.md")
        if number == 3:
            sys.stdout.write("writing\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
