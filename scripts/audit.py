"""Check the versions in constraints.txt against the public advisory databases. Called by `make audit` and CI.

pip-audit runs in its own environment, so that its dependencies do not change the audited ones. Exit status: 0 without
advisories, 1 with advisories, 3 if the databases cannot be reached.
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
AUDIT_VENV = ROOT / ".venv" / "audit"

EXIT_VULNERABLE = 1
EXIT_NOT_AUDITED = 3


def main() -> int:
    try:
        _install()
        dependencies = _audit()
    except subprocess.CalledProcessError as error:
        print(f"not audited: {_last_line(error.stderr)}", file=sys.stderr)
        return EXIT_NOT_AUDITED
    # A package mirror has no advisories: pip-audit reports its packages as "not found".
    unknown = [found for found in dependencies if "skip_reason" in found]
    vulnerable = [found for found in dependencies if found.get("vulns")]
    for found in vulnerable:
        for advisory in found["vulns"]:
            fixed_in = ", ".join(advisory["fix_versions"]) or "no version yet"
            print(f"{found['name']} {found['version']}: {advisory['id']}, fixed in {fixed_in}")
    if vulnerable:
        return EXIT_VULNERABLE
    if len(unknown) == len(dependencies):
        print("not audited: pip's package index provides no advisories", file=sys.stderr)
        return EXIT_NOT_AUDITED
    for found in unknown:
        print(f"not audited: {found['name']}: {found['skip_reason']}")
    print(f"{len(dependencies) - len(unknown)} packages: no known vulnerabilities")
    return 0


def _install() -> None:
    if not (AUDIT_VENV / "bin" / "pip-audit").exists():
        venv.create(AUDIT_VENV, with_pip=True, clear=True)
        _run("pip", "install", "--quiet", "pip-audit>=2.10")


def _audit() -> list[dict[str, Any]]:
    command = ["pip-audit", "--requirement", str(PINS), "--no-deps", "--disable-pip", "--format", "json"]
    done = _run(*command, "--progress-spinner", "off", fails_with=EXIT_VULNERABLE)
    dependencies: list[dict[str, Any]] = json.loads(done)["dependencies"]
    return dependencies


def _run(program: str, *arguments: str, fails_with: int = 0) -> str:
    """Run a program of the audit environment and return its output. Exit status `fails_with` is not an error."""
    command = [str(AUDIT_VENV / "bin" / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode and not (done.returncode == fails_with and done.stdout):
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return done.stdout


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "pip-audit failed without a message"


if __name__ == "__main__":
    sys.exit(main())
