"""Show gnod at work on throw-away directories: start it, index a folder, ask it things, leave nothing behind.

demo.py             the sample that ships with the repository
demo.py FOLDER      your own; queries are made from the titles that are found in it

Where no model can be fetched, it shows keyword search only, and says so.
"""
# ruff: noqa: T201

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import psutil

from gnod import paths
from gnod.models.files import ModelFiles
from gnod.models.presets import PRESET_MODELS

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "samples"
GNOCTL = Path(sys.executable).parent / "gnoctl"

SAMPLE_QUERIES = (
    ("a question, as you would ask it", "how do I deploy to production"),
    ("C++ is not C, and not C#", "C++"),
    ("the name of a file, and who mentions it", "config.yaml"),
    ("one potato finds many potatoes: stemming, in the language of the document", "Kartoffel"),
    ("a word that no space sets apart", "紅葉"),
    ("a part of an identifier: the function is retry_with_backoff", "backoff"),
    ("a word in a PDF, and a word in a table of Excel", "anemometer"),
    ("no file has this word …", "outage"),
)
# None of these shares a word with what it finds.
SAMPLE_MEANINGS = (
    ("… and one tells of one", "outage"),
    ("by meaning: a boiler that does not ignite", "furnace fault"),
    ("by meaning: what the lamps of a washing machine say", "laundry appliance is stuck"),
)
SAMPLE_BOTH = (("by keyword and by meaning: the best search there is here", "why was the website down in October"),)
SAMPLE_REF = "samples/docs/how-we-deploy.md"
HITS = "2"
# The smallest: its model for search by meaning comes from the Python package index (84 MB), and is soon through.
PRESET = "mini"
EMBED_LIMIT_S = 60
LISTED = 2000
FOUND_QUERIES = 4

# Scripts that are written without spaces: two characters make a word.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_WORD = re.compile(r"[^\W\d_]{5,}")


def main() -> int:
    folder = Path(sys.argv[1]).expanduser() if len(sys.argv) > 1 and sys.argv[1] else SAMPLES
    shown = os.path.relpath(folder) if folder == SAMPLES else str(folder)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    started = time.monotonic()
    with _throw_away() as (place, environment):
        gnoctl = _Gnoctl(environment)
        print(f"The index, the config file and the socket are in {place}; all of it is removed at the end.")
        gnoctl.show("daemon", "start")
        has_model = _get_model(gnoctl, place)
        status = gnoctl.show("init", shown)
        if status:
            return status
        documents = gnoctl.documents()
        queries = list(SAMPLE_QUERIES if folder == SAMPLES else _queries_from_titles(documents))
        for remark, query in queries:
            gnoctl.show("search", query, "-n", HITS, remark=remark)
        if has_model and documents:
            is_sample = folder == SAMPLES
            _search_by_meaning(
                gnoctl,
                SAMPLE_MEANINGS if is_sample else [("the nearest by meaning", query) for _, query in queries[:2]],
                SAMPLE_BOTH if is_sample else [("by keyword and by meaning", query) for _, query in queries[:2]],
                SAMPLE_REF if is_sample else documents[len(documents) // 2]["uri"],
            )
        if not documents:
            print("\nNothing was indexed, so there is nothing to search for: `gnoctl why FILE` tells the reason.")
        gnoctl.show("status", remark="what is in the index, and whether it equals the disk")
    print(f"\nThe daemon is stopped and {place} is gone, {time.monotonic() - started:.0f} s after the start.")
    print(_next_steps(shown if folder != SAMPLES else "~/notes"))
    return 0


def _get_model(gnoctl: _Gnoctl, place: Path) -> bool:
    """Fetch the model for search by meaning. Returns whether it is there."""
    _lend_model(place)
    failed = gnoctl.show("models", "use", PRESET, remark="the smallest models, for English")
    failed = failed or gnoctl.show("models", "pull", "embed", remark="the one for search by meaning")
    if failed:
        print("\nThere is no model for search by meaning, so the demo goes on with keyword search only.")
    return not failed


def _lend_model(place: Path) -> None:
    """Let the throw-away cache have the model that the user's own cache has: 84 MB are not fetched for each demo.

    Its files are links, in a folder that is the demo's own: whatever replaces or removes them there leaves the
    user's files as they are.
    """
    uri = PRESET_MODELS[PRESET]["embed"]
    assert uri
    found = ModelFiles(paths.resolve(paths.DEFAULT_INDEX).models_dir).find(uri)
    if found:
        folder = ModelFiles(place / "cache" / "models").path_for(uri).parent
        folder.mkdir(parents=True)
        for file in found.path.parent.iterdir():
            (folder / file.name).symlink_to(file)


def _search_by_meaning(
    gnoctl: _Gnoctl, queries: Iterable[tuple[str, str]], both: Iterable[tuple[str, str]], reference: str
) -> None:
    """Wait for the vectors, a while, and show what they are for."""
    started = time.monotonic()
    gnoctl.show("embed", remark="vectors are made by themselves; this waits for the last", limit_s=EMBED_LIMIT_S)
    is_complete = time.monotonic() - started < EMBED_LIMIT_S
    if not is_complete:
        print("\nThe demo does not wait any longer; searches by meaning see what has its vector already.")
    for remark, query in queries:
        gnoctl.show("vsearch", query, "-n", "1", remark=remark)
    for remark, query in both:
        gnoctl.show("query", query, "-n", HITS, remark=remark)
    if is_complete:
        gnoctl.show("similar", reference, "-n", HITS, remark="what else is about the same")


@contextlib.contextmanager
def _throw_away() -> Iterator[tuple[Path, dict[str, str]]]:
    """Give the environment of an index that ends with the block, its daemon too, whatever happens inside."""
    # Under /tmp whatever TMPDIR says: the path of a socket must be short.
    place = Path(tempfile.mkdtemp(prefix="gnod-demo.", dir="/tmp"))
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GNO_") or name == "GNO_OFFLINE"
    }
    environment |= {
        "GNO_CONFIG_DIR": str(place / "config"),
        "GNO_DATA_DIR": str(place / "data"),
        "GNO_CACHE_DIR": str(place / "cache"),
        "GNO_SOCKET": str(place / "gnod.sock"),
    }
    try:
        yield place, environment
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _stop(environment)
        shutil.rmtree(place, ignore_errors=True)


def _stop(environment: dict[str, str]) -> None:
    subprocess.run([str(GNOCTL), "--no-start", "daemon", "stop"], env=environment, capture_output=True, check=False)
    # A daemon that is only just starting does not listen yet: Ctrl-C in the first second.
    left = [process for process in psutil.process_iter() if _belongs(process, environment)]
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    for process in psutil.wait_procs(left, timeout=5)[1]:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _belongs(process: psutil.Process, environment: dict[str, str]) -> bool:
    with contextlib.suppress(psutil.Error, OSError):
        return process.pid != os.getpid() and process.environ().get("GNO_DATA_DIR") == environment["GNO_DATA_DIR"]
    return False


class _Gnoctl:
    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._styled = sys.stdout.isatty() and not os.environ.get("NO_COLOR")

    def show(self, *words: str, remark: str = "", limit_s: float | None = None) -> int:
        """Print the command as it would be typed, and run it; its output goes where ours goes.

        After `limit_s` it gets Ctrl-C, as it were. Returns its exit status.
        """
        comment = f"  # {remark}" if remark else ""
        line = f"$ gnoctl {shlex.join(words)}"
        print(f"\n\x1b[1;32m{line}\x1b[0;2m{comment}\x1b[0m" if self._styled else f"\n{line}{comment}", flush=True)
        with subprocess.Popen([str(GNOCTL), *words], env=self._environment) as process:
            try:
                return process.wait(limit_s)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                return process.wait()

    def documents(self) -> list[dict[str, str]]:
        command = [str(GNOCTL), "ls", "--json", "-n", str(LISTED)]
        listed = subprocess.run(command, env=self._environment, stdout=subprocess.PIPE, check=True)
        documents: list[dict[str, str]] = json.loads(listed.stdout)["documents"]
        return documents


def _queries_from_titles(documents: Iterable[dict[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield a title of several words, and single words of others, from all over the list."""
    titles = list(dict.fromkeys(document["title"] for document in documents))
    long_ones = [title for title in titles if len(_WORD.findall(title)) >= 3 and len(title) <= 60 and '"' not in title]
    if long_ones:
        yield "a title that is in there", long_ones[len(long_ones) // 2]
    words = list(dict.fromkeys(word for title in titles if (word := _longest_word(title))))
    step = max(1, len(words) // FOUND_QUERIES)
    for word in words[::step][:FOUND_QUERIES]:
        yield "a word of a title", word


def _longest_word(title: str) -> str:
    unspaced = _UNSPACED.findall(title)
    return unspaced[0][:2] if unspaced else max(_WORD.findall(title), key=len, default="").lower()


def _next_steps(folder: str) -> str:
    return f"""
For real use (the index then lives in the places that README.md lists):

  source .venv/bin/activate     # or `pipx install .`, to have gnoctl everywhere
  gnoctl init {folder}
  gnoctl search 'words of it'
  gnoctl models pull embed      # the model for search by meaning; README.md says which presets there are
  gnoctl vsearch 'what you remember of it'
  gnoctl --help"""


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
