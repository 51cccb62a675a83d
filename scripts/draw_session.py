"""Write docs/session.svg: a real session on the samples, as the README shows it.

It runs like the demo, in temporary directories, with the model that the demo downloads.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from xml.sax.saxutils import escape

import demo

OUTPUT = demo.ROOT / "docs" / "session.svg"
COLUMNS, FONT_PX, LINE_PX, MARGIN_PX = 96, 14, 19, 16

SESSION: tuple[tuple[str, ...], ...] = (
    ("init", "samples"),
    ("search", "renew certifcate", "-n", "1"),
    ("vsearch", "furnace fault", "-n", "1"),
    ("query", "why was the website down in October", "-n", "1"),
    ("remember", "Staging runs on Postgres 16", "--type", "decision", "--topic", "postgres"),
    ("recall", "which database version do we run"),
)

# The codes that gnoctl prints, as attributes of SVG.
_STYLES = {
    "1": 'font-weight="bold"',
    "2": 'fill="#8b949e"',
    "33": 'fill="#e3b341"',
    "1;32": 'fill="#7ee787" font-weight="bold"',
    "1;33": 'fill="#e3b341" font-weight="bold"',
}
_CODE = re.compile(r"\x1b\[([\d;]*)m")


def main() -> int:
    lines: list[str] = []
    with demo._temporary_index() as (place, environment):
        environment |= {
            "TERM": "xterm-256color",
            "COLUMNS": str(COLUMNS),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }
        demo._link_model(place)
        for words in (("models", "use", demo.PRESET), ("models", "pull", "embed")):
            subprocess.run([str(demo.GNOCTL), *words], env=environment, check=True)
        unlock = [str(demo.GNOCTL), "memory", "unlock"]
        subprocess.run(unlock, env=environment, input="a passphrase\n", text=True, check=True)
        for command in SESSION:
            lines.append(f"\x1b[1;32m$ gnoctl {shlex.join(command)}\x1b[0m")
            lines += _printed(list(command), environment).split("\n")
            if command[0] == "init":
                subprocess.run([str(demo.GNOCTL), "embed"], env=environment, check=True)
        places = {str(place / "config"): "~/.config/gno", str(demo.ROOT): "~/gnod"}
    OUTPUT.write_text(_svg(lines, places), encoding="utf-8")
    sys.stdout.write(f"wrote {OUTPUT}, {OUTPUT.stat().st_size:,} bytes\n")
    return 0


def _printed(words: list[str], environment: dict[str, str]) -> str:
    """Return the output of a command on a terminal, without its progress."""
    ours, theirs = pty.openpty()
    command = [str(demo.GNOCTL), *words]
    with subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        printed = b""
        try:
            while data := os.read(ours, 4096):
                printed += data
        except OSError:
            pass  # Linux: the command has ended
        os.close(ours)
    assert process.returncode == 0, words
    return printed.decode().replace("\r\n", "\n")


def _svg(lines: list[str], places: dict[str, str]) -> str:
    width = round(COLUMNS * FONT_PX * 0.602) + 2 * MARGIN_PX
    height = len(lines) * LINE_PX + 2 * MARGIN_PX
    rows = []
    for number, line in enumerate(lines, 1):
        for path, shown in places.items():
            line = line.replace(path, shown)
        rows.append(f'<text x="{MARGIN_PX}" y="{MARGIN_PX + number * LINE_PX - 5}">{_spans(line)}</text>')
    font = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
            "<title>A session with gnoctl</title>",
            '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
            f'<g font-family="{font}" font-size="{FONT_PX}" fill="#e6edf3" xml:space="preserve">',
            *rows,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _spans(line: str) -> str:
    first, *rest = _CODE.split(line)
    styled = zip(rest[::2], rest[1::2], strict=True)
    return escape(first) + "".join(
        f"<tspan {_STYLES.get(code, '')}>{escape(part)}</tspan>" for code, part in styled if part
    )


if __name__ == "__main__":
    sys.exit(main())
