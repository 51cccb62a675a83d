"""Create `.venv` and install the project into it. Called by the Makefile; uses only the standard library.

On an old Python, the script must run as far as the message that it is too old: no syntax newer than Python 3.6.
"""
# ruff: noqa: T201

import argparse
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = VENV / "install.log"
WHEELS = VENV / "wheels"
PINS = ROOT / "constraints.txt"

# The versions for which `make wheels` finds every pinned package.
PYTHONS = ((3, 14), (3, 13), (3, 12), (3, 11))
COMPILERS = ("c++", "g++", "clang++")
LLAMA = "llama-cpp-python"
PREBUILT = "https://abetlen.github.io/llama-cpp-python/whl/cpu"
# Reasons and measurements: docs/adr/0024-build.md
CMAKE_ARGS = (
    "-DLLAVA_BUILD=OFF",
    "-DLLAMA_ALL_WARNINGS=OFF",
    "-DCMAKE_INSTALL_LIBDIR=llama_cpp/lib",
    "-DCMAKE_PROJECT_llama_cpp_INCLUDE=" + shlex.quote(str(ROOT / "scripts" / "llama.cmake")),
)
LINUX_CMAKE_ARGS = ("-DCMAKE_PLATFORM_NO_VERSIONED_SONAME=ON",)

REPORT_EVERY_S = 10.0
DRAW_EVERY_S = 0.5
LAST_LINES = 40
END_WITHIN_S = 3.0

_STEPS = (
    (re.compile(r"\s*\[(\d+/\d+)\] "), "compiling"),
    (re.compile(r"\s*Building (?:wheel|editable) for (\S+) "), "building"),
    (re.compile(r"\s*(?:Downloading|Using cached) ([^\s/]+?)(?:-\d\S*)?(?:\.metadata)? \("), "downloading"),
    (re.compile(r"\s*Collecting ([A-Za-z0-9._-]+)"), "collecting"),
    (re.compile(r"\s*Installing collected (packages):"), "installing"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", choices=("bench", "test"), help="a group of optional dependencies")
    extra = parser.parse_args().extra
    problem = _machine_problem(sys.platform, platform.machine()) or _python_problem(sys.version_info[:2])
    if problem:
        _stop(problem)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    started = time.monotonic()
    if not _venv_works():
        _create_venv()
    LOG.write_text("", encoding="utf-8")
    _install(extra)
    print("installed in " + _clock(time.monotonic() - started), flush=True)
    for stamp in {"run", "bench", extra} if extra == "test" else {"run", extra or "run"}:
        (VENV / f".{stamp}").touch()


def _install(extra: "str | None") -> None:
    """Install gnod with its dependencies. While llama-cpp-python compiles, the other packages are installed."""
    with _Progress() as progress:
        must_compile = _must_compile()
        if must_compile:
            _check_compiler()
            print(
                f"{LLAMA} is compiled from source: 2 to 3 minutes on 2 cores. pip caches the result.\n"
                "(docs/install.md describes prebuilt wheels and wheels for GPUs.)",
                flush=True,
            )
        progress.pip("pip", "install", "pip>=24.1").wait()
        wheels: list[Path] = []
        if must_compile:
            shutil.rmtree(WHEELS, ignore_errors=True)
            others, llama = _dependencies(extra)
            build = progress.pip(LLAMA, "wheel", "--verbose", "--no-deps", "--wheel-dir", str(WHEELS), *llama)
            progress.pip("the other packages", "install", *others).wait()
            build.wait()
            wheels = list(WHEELS.glob("*.whl"))
        target = f".[llama,ocr,{extra}]" if extra else ".[llama,ocr]"
        progress.pip("gnod", "install", *map(str, wheels), "--editable", target).wait()
    shutil.rmtree(WHEELS, ignore_errors=True)


def _dependencies(extra: "str | None") -> "tuple[list[str], list[str]]":
    """Return the dependencies in pyproject.toml except llama-cpp-python, and llama-cpp-python."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], extras["llama"], extras["ocr"]]
    groups += [extras["bench"] if extra else [], extras["test"] if extra == "test" else []]
    named = [name for group in groups for name in group if not name.startswith("gnod[")]
    llama = [name for name in named if name.startswith(LLAMA)]
    return [name for name in named if name not in llama], llama


def _machine_problem(system: str, machine: str) -> "str | None":
    if system != "darwin" or machine != "x86_64":
        return None
    return (
        "on macOS, gnod needs Apple silicon: cryptography and onnxruntime have no wheels for Intel.\n"
        "If this Mac has Apple silicon, this Python runs under Rosetta: install one for arm64."
    )


def _python_problem(version: "tuple[int, int]") -> "str | None":
    if version in PYTHONS:
        return None
    good = next((name for name in map("python{0[0]}.{0[1]}".format, PYTHONS) if _runs(name)), None)
    hint = f"run `make PYTHON={good} …`" if good else "install one of these, then run `make PYTHON=… …`"
    return "gnod needs Python 3.11 to 3.14, and {} is {}.{}: {}".format(sys.executable, *version, hint)


def _runs(name: str) -> bool:
    """Return whether that Python starts; pyenv has shims on the PATH for versions that are not installed."""
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
        f"{LLAMA} must be compiled, and no C++ compiler is installed. Install one: {package}.\n"
        f"Or use a prebuilt wheel: PIP_PREFER_BINARY=1 PIP_EXTRA_INDEX_URL={PREBUILT} make …"
    )


def _venv_works() -> bool:
    """Return whether `.venv` is complete and its Python still exists."""
    probe = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return (
        PYTHON.exists() and subprocess.run([str(PYTHON), "-c", probe], capture_output=True, check=False).returncode == 0
    )


def _create_venv() -> None:
    print(f"creating .venv with {sys.executable}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(VENV)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        hint = "\nOn Debian and Ubuntu: `apt install python3-venv`." if "ensurepip" in done.stdout else ""
        _stop(f"{done.stdout.strip()}\nthe virtual environment could not be created.{hint}")


def _must_compile() -> bool:
    """Return whether pip will probably compile: not installed, no wheel in the cache, no other index configured."""
    if any("llama" in os.environ.get(name, "") for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")):
        return False
    if _pip_output("show", LLAMA):
        return False
    return not _pip_output("cache", "list", LLAMA.replace("-", "_"), "--format", "abspath")


def _pip_output(*arguments: str) -> str:
    """Return the output of pip; "" if it fails."""
    done = subprocess.run([str(PYTHON), "-m", "pip", *arguments], capture_output=True, text=True, check=False)
    return "" if done.returncode else done.stdout.strip()


class _Pip:
    """One run of pip. A thread reads its output, so that several can run at once."""

    def __init__(self, progress: "_Progress", what: str, arguments: "tuple[str, ...]") -> None:
        command = [str(PYTHON), "-m", "pip", "--disable-pip-version-check", "--no-input", *arguments]
        environment = dict(os.environ)
        on_linux = LINUX_CMAKE_ARGS if sys.platform == "linux" else ()
        environment.setdefault("CMAKE_ARGS", " ".join((*CMAKE_ARGS, *on_linux)))
        self.step = f"installing {what}"
        self._what = what
        self._progress = progress
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        # Use a separate session, so that Ctrl-C reaches the compilers only once, through `end`.
        self._child = subprocess.Popen(
            [*command, "--constraint", str(PINS), "--progress-bar", "off"],
            cwd=str(ROOT),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._child.stdout
        with LOG.open("a", encoding="utf-8") as log:
            for line in self._child.stdout:
                log.write(line)
                self._last.append(line)
                for pattern, verb in _STEPS:
                    match = pattern.match(line)
                    if match:
                        name = f"{LLAMA} {match.group(1)}" if verb == "compiling" else match.group(1)
                        self.step = f"{verb} {name}"
                        break

    @property
    def is_running(self) -> bool:
        return self._reader.is_alive()

    def wait(self) -> None:
        """Show progress until pip ends. If it fails, print the end of its output and exit."""
        while self.is_running:
            self._reader.join(DRAW_EVERY_S)
            self._progress.show()
        status = self._child.wait()
        if status:
            self._progress.clear()
            sys.stderr.write("".join(self._last))
            _stop(f"{self._what} could not be installed; all output is in {LOG.relative_to(ROOT)}", status)

    def end(self) -> None:
        """Interrupt pip and the compilers that it started."""
        for signal_number in (signal.SIGINT, signal.SIGKILL):
            if self._child.poll() is None:
                os.killpg(self._child.pid, signal_number)
                try:
                    self._child.wait(timeout=END_WITHIN_S)
                except subprocess.TimeoutExpired:
                    continue


class _Progress:
    """A status line on a terminal; elsewhere a line every ten seconds. Ends all runs of pip when it closes."""

    def __init__(self) -> None:
        self._runs: list[_Pip] = []
        self._started = time.monotonic()
        self._due = self._started + REPORT_EVERY_S
        self._draws = sys.stdout.isatty()

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()
        for run in self._runs:
            run.end()

    def pip(self, what: str, *arguments: str) -> _Pip:
        self._runs.append(_Pip(self, what, arguments))
        return self._runs[-1]

    def show(self) -> None:
        now = time.monotonic()
        text = f"  {_clock(now - self._started)}  " + ", ".join(run.step for run in self._runs if run.is_running)
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
        sys.stderr.write("\ninterrupted: run the same command again to continue\n")
        sys.exit(130)
