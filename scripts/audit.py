"""Ask the public advisory databases about the versions in constraints.txt. Called by `make audit` and CI.

pip-audit gets an environment of its own: what it needs must not change what is audited. Exits with 0 when nothing
is known against any version, 1 when something is, and 3 when nobody could be asked.
"""
# ruff: noqa: T201

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PINS = ROOT / "constraints.txt"
AUDITOR = ROOT / ".venv" / "audit"

EXIT_VULNERABLE = 1
EXIT_NOT_ASKED = 3


def main() -> int:
    try:
        _install()
        dependencies = _audit()
    except subprocess.CalledProcessError as error:
        print(f"not audited: {_last_line(error.stderr)}", file=sys.stderr)
        return EXIT_NOT_ASKED
    # A mirror has packages, and knows of no advisories: to pip-audit they are "not found".
    unknown = [found for found in dependencies if "skip_reason" in found]
    vulnerable = [found for found in dependencies if found.get("vulns")]
    for found in vulnerable:
        for advisory in found["vulns"]:
            mended = ", ".join(advisory["fix_versions"]) or "no version yet"
            print(f"{found['name']} {found['version']}: {advisory['id']}, mended in {mended}")
    if vulnerable:
        return EXIT_VULNERABLE
    if len(unknown) == len(dependencies):
        print("not audited: the package index that pip uses here has no advisories", file=sys.stderr)
        return EXIT_NOT_ASKED
    for found in unknown:
        print(f"not audited: {found['name']}: {found['skip_reason']}")
    print(f"nothing is known against {len(dependencies) - len(unknown)} packages")
    return 0


def _install() -> None:
    if not (AUDITOR / "bin" / "pip-audit").exists():
        venv.create(AUDITOR, with_pip=True, clear=True)
        _run("pip", "install", "--quiet", "pip-audit>=2.10")


def _audit() -> list[dict[str, Any]]:
    command = ["pip-audit", "--requirement", str(PINS), "--no-deps", "--disable-pip", "--format", "json"]
    done = _run(*command, "--progress-spinner", "off", fails_with=EXIT_VULNERABLE)
    dependencies: list[dict[str, Any]] = json.loads(done)["dependencies"]
    return dependencies


def _run(program: str, *arguments: str, fails_with: int = 0) -> str:
    """Run a program of the auditor's and return what it printed. Exit status `fails_with` is an answer as well."""
    command = [str(AUDITOR / "bin" / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode and not (done.returncode == fails_with and done.stdout):
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return done.stdout


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "pip-audit failed without a word"


if __name__ == "__main__":
    sys.exit(main())
