"""Make `.venv` and install the project into it. Called by the Makefile; needs nothing but the standard library.

It must run far enough on an old Python to say that it is too old, so: no syntax newer than 3.6.
"""
# ruff: noqa: T201

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "install.log"
PINS = ROOT / "constraints.txt"

OLDEST = (3, 11)
NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")
COMPILERS = ("c++", "g++", "clang++")
REPORT_EVERY_S = 10.0
LAST_LINES = 40

PREBUILT = "https://abetlen.github.io/llama-cpp-python/whl/cpu"
BUILDING = (
    "llama-cpp-python is compiled from source now: about 6 minutes on 2 cores, once; pip's cache keeps the wheel.\n"
    "(README.md, section Install, says how to get a prebuilt one, or one for a GPU.)"
)

_STEPS = (
    (re.compile(r"\s*Building wheel for (\S+) "), "building"),
    (re.compile(r"\s*(?:Downloading|Using cached) ([^\s/]+?)(?:-\d\S*)?(?:\.metadata)? \("), "downloading"),
    (re.compile(r"\s*Collecting ([A-Za-z0-9._-]+)"), "collecting"),
    (re.compile(r"\s*Installing collected (packages):"), "installing"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", help="an optional group of dependencies, such as test")
    extra = parser.parse_args().extra
    _check_python()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    if not _venv_works():
        _make_venv()
    LOG.write_text("", encoding="utf-8")
    announced = _llama_must_be_built()
    if announced:
        _check_compiler()
        print(BUILDING, flush=True)
    _pip("install", "--upgrade", "pip", what="pip")
    target = f".[{extra}]" if extra else "."
    _pip("install", "--constraint", str(PINS), "--editable", target, what="gnod and what it needs", announced=announced)
    print(f"installed in {_clock(time.monotonic() - started)}", flush=True)
    for stamp in ("run", extra) if extra else ("run",):
        (VENV / f".{stamp}").touch()


def _check_python() -> None:
    if sys.version_info >= OLDEST:
        return
    found = next((name for name in NEWER if _runs(name)), None)
    hint = f"`make PYTHON={found} …` uses the one that is here" if found else "install one, then `make PYTHON=… …`"
    _stop("gnod needs Python 3.11 or newer, and {} is {}.{}: {}".format(sys.executable, *sys.version_info[:2], hint))


def _runs(name: str) -> bool:
    """Say whether that Python is here; pyenv has a shim on the PATH for each that it could have."""
    return bool(shutil.which(name)) and subprocess.call([name, "-c", ""], stderr=subprocess.DEVNULL) == 0


def _check_compiler() -> None:
    named = os.environ.get("CXX", "").split()
    if any(shutil.which(name) for name in (*named[:1], *COMPILERS)):
        return
    if sys.platform == "darwin":
        package = "`xcode-select --install`"
    else:
        package = "`apt install g++` (Debian, Ubuntu), `dnf install gcc-c++` (Fedora), `pacman -S gcc` (Arch)"
    _stop(
        f"llama-cpp-python has to be compiled, and there is no C++ compiler. Install one: {package}.\n"
        f"Or take a prebuilt wheel: PIP_PREFER_BINARY=1 PIP_EXTRA_INDEX_URL={PREBUILT} make …"
    )


def _venv_works() -> bool:
    """Say whether `.venv` can be used as it is; one from an interrupted run, or whose Python has gone, cannot."""
    probe = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return (
        PYTHON.exists() and subprocess.run([str(PYTHON), "-c", probe], capture_output=True, check=False).returncode == 0
    )


def _make_venv() -> None:
    print(f"making .venv with {sys.executable}", flush=True)
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(VENV)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if made.returncode:
        hint = "\nOn Debian and Ubuntu: `apt install python3-venv`." if "ensurepip" in made.stdout else ""
        _stop(f"{made.stdout.strip()}\nthe virtual environment could not be made.{hint}")


def _llama_must_be_built() -> bool:
    """Say whether pip will most likely compile: not installed, no wheel in the cache, no other place to find one."""
    if any("llama" in os.environ.get(name, "") for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")):
        return False
    return not _answers("show", "--quiet", "llama-cpp-python") and not _answers(
        "cache", "list", "llama_cpp_python", "--format", "abspath"
    )


def _answers(*arguments: str) -> bool:
    """Run pip and say whether it succeeded, and printed something where it prints at all."""
    done = subprocess.run([str(PYTHON), "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    return done.returncode == 0 and ("--quiet" in arguments or bool(done.stdout.strip()))


def _pip(*arguments: str, what: str, announced: bool = True) -> None:
    """Run pip silently but for a sign of life, and show the end of its output when it fails."""
    command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
    child = subprocess.Popen(
        [*command, "--progress-bar", "off"],
        cwd=str(ROOT),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines = _follow(child)
    alive = _SignOfLife(what)
    kept = []
    try:
        with LOG.open("a", encoding="utf-8") as log:
            while True:
                try:
                    line = lines.get(timeout=1.0)
                except queue.Empty:
                    alive.tick()
                    continue
                if line is None:
                    break
                log.write(line)
                kept.append(line)
                if "Building wheel for llama-cpp-python" in line and not announced:
                    announced = True
                    alive.clear()
                    print(BUILDING, flush=True)
                alive.see(line)
        status = child.wait()
    except BaseException:
        alive.clear()
        _end(child)
        raise
    alive.clear()
    if status:
        sys.stderr.write("".join(kept[-LAST_LINES:]))
        _stop(f"{what} could not be installed; all that pip said is in {LOG.relative_to(ROOT)}", status)


def _follow(child: "subprocess.Popen[str]") -> "queue.Queue[str | None]":
    """Read the child's output in a thread, so that the clock goes on while it says nothing."""
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert child.stdout
        for line in child.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _end(child: "subprocess.Popen[str]") -> None:
    """Wait for a child that Ctrl-C has reached as well; insist after a moment."""
    try:
        child.wait(timeout=3)
    except subprocess.TimeoutExpired:
        child.terminate()
        child.wait()


class _SignOfLife:
    """One line that is drawn over on a terminal; elsewhere a line every ten seconds."""

    def __init__(self, what: str) -> None:
        self._step = f"installing {what}"
        self._started = time.monotonic()
        self._due = self._started + REPORT_EVERY_S
        self._draws = sys.stdout.isatty()

    def see(self, line: str) -> None:
        for pattern, verb in _STEPS:
            found = pattern.match(line)
            if found:
                self._step = f"{verb} {found.group(1)}"
        self.tick()

    def tick(self) -> None:
        now = time.monotonic()
        text = f"  {_clock(now - self._started)}  {self._step}"
        if self._draws:
            width = shutil.get_terminal_size().columns - 1
            sys.stdout.write(f"\r{text[:width]}\x1b[K")
            sys.stdout.flush()
        elif now >= self._due:
            self._due = now + REPORT_EVERY_S
            print(text, flush=True)

    def clear(self) -> None:
        if self._draws:
            sys.stdout.write("\r\x1b[K")
            sys.stdout.flush()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _stop(sentence: str, status: int = 1) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.write(f"make_venv: {sentence}\n")
    sys.exit(status)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted; the same command goes on from here\n")
        sys.exit(130)
