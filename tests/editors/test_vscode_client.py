"""The VS Code extension: its own tests, run by Node against a real daemon; its manifest; and the package that its
README builds, installed as VS Code does it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.editors.conftest import EDITORS, Desk, strange_socket

pytestmark = pytest.mark.slow

SOURCE = EDITORS / "vscode"

# `code --install-extension FILE` as VS Code does it: the folder `extension` of the file becomes the extension's own.
CODE = """#!{python}
import json, pathlib, sys, zipfile
option, name = sys.argv[1:]
assert option == "--install-extension"
with zipfile.ZipFile(name) as package:
    manifest = json.loads(package.read("extension/package.json"))
    place = pathlib.Path.home() / ".vscode/extensions/{{publisher}}.{{name}}-{{version}}".format(**manifest)
    package.extractall(place.parent, [each for each in package.namelist() if each.startswith("extension/")])
    (place.parent / "extension").rename(place)
"""


def run_tests(desk: Desk, extension: Path, *options: str) -> str:
    """Run the tests of the extension in its folder, and return their report."""
    if not shutil.which("node"):
        pytest.skip("node is not installed: apt-get install nodejs")
    done = subprocess.run(
        ["node", "--test", *options, "test/"],
        cwd=extension,
        env=desk.environment | {"GNO_TEST_NOTES": str(desk.notes)},
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build_and_install(desk: Desk) -> Path:
    """Do what the README says, and return the folder of the installed extension."""
    checkout = desk.folder / "checkout"
    shutil.copytree(SOURCE, checkout / "editors" / "vscode", symlinks=True)
    for name in ("LICENSE", "Makefile", "scripts/make_vsix.py"):
        (checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(EDITORS.parent / name, checkout / name)
    code = desk.folder / "bin" / "code"
    code.write_text(CODE.format(python=sys.executable))
    code.chmod(0o755)
    (block,) = re.findall(r"```sh\n(.*?)```", (SOURCE / "README.md").read_text(), re.DOTALL)
    done = subprocess.run(
        ["sh", "-ec", block], cwd=checkout, env=desk.environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return desk.folder / ".vscode" / "extensions" / "gnod.gno-0.1.0"


def test_its_own_tests_pass_against_a_real_daemon(desk: Desk) -> None:
    extension = desk.folder / "source"
    shutil.copytree(SOURCE, extension)
    assert re.search("^# skipped 0$", run_tests(desk, extension), re.MULTILINE)


def test_the_package_of_the_readme_starts_and_searches(desk: Desk) -> None:
    extension = build_and_install(desk)
    packed = {str(path.relative_to(extension)) for path in extension.rglob("*") if path.is_file()}
    sources = {f"src/{path.name}" for path in (SOURCE / "src").iterdir()}
    assert packed == sources | {"package.json", "README.md", "LICENSE.txt", "gno.svg"}
    assert "MIT License" in (extension / "LICENSE.txt").read_text()
    assert "dependencies" not in json.loads((extension / "package.json").read_text())
    shutil.copytree(SOURCE / "test", extension / "test")
    assert re.search("^# pass [1-9]", run_tests(desk, extension, "--test-name-pattern=quick pick"), re.MULTILINE)


def test_the_package_says_what_it_is(tmp_path: Path) -> None:
    """Its manifest is that of package.json, every file has a type, and the same sources make the same bytes."""
    made: list[Path] = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        script = EDITORS.parent / "scripts" / "make_vsix.py"
        subprocess.run([sys.executable, script, folder], check=True, capture_output=True, timeout=60)
        made += folder.iterdir()
    assert made[0].read_bytes() == made[1].read_bytes()
    with zipfile.ZipFile(made[0]) as package:
        names = package.namelist()
        manifest, types = (ElementTree.fromstring(package.read(name)) for name in names[:2])
    assert names[:2] == ["extension.vsixmanifest", "[Content_Types].xml"]
    assert {Path(name).suffix for name in names} - {".xml"} == {each.attrib["Extension"] for each in types}
    (identity,) = manifest.findall(".//{*}Identity")
    assert identity.attrib == {"Language": "en-US", "Id": "gno", "Version": "0.1.0", "Publisher": "gnod"}
    assert {each.attrib["Path"] for each in manifest.findall(".//{*}Asset")} <= set(names)
    assert made[0].name == "{Id}-{Version}.vsix".format(**identity.attrib)


def test_it_does_not_connect_to_another_users_socket(desk: Desk) -> None:
    with strange_socket(desk.folder) as (path, listener):
        gnoctl = desk.folder / "other-gnoctl"
        gnoctl.write_text(f'#!/bin/sh\n[ "$1" = socket ] && echo {path} && exit\necho "this is all" >&2\nexit 1\n')
        gnoctl.chmod(0o755)
        program = (
            f"new (require({json.dumps(str(SOURCE / 'src/client.js'))}).Client)"
            f"({{ command: {json.dumps(str(gnoctl))}, index: '' }})"
            ".request('daemon.status', {}).catch((error) => console.log(error.message))"
        )
        done = subprocess.run(
            ["node", "-e", program],
            env=desk.environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout == "this is all\n", done.stderr
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_every_command_of_the_manifest_is_registered() -> None:
    manifest = json.loads((SOURCE / "package.json").read_text())
    registered = set(re.findall(r'registerCommand\("([\w.]+)"', (SOURCE / "src" / "extension.js").read_text()))
    named = {command["command"] for command in manifest["contributes"]["commands"]}
    assert named == registered - {"gno.open"}
    used = set(re.findall(r"command:([\w.]+)", json.dumps(manifest["contributes"]["viewsWelcome"])))
    used |= {entry["command"] for entries in manifest["contributes"]["menus"].values() for entry in entries}
    assert used <= named


def test_the_files_that_the_manifest_names_are_there() -> None:
    manifest = json.loads((SOURCE / "package.json").read_text())
    containers = manifest["contributes"]["viewsContainers"]["activitybar"]
    for name in [manifest["main"], *manifest["files"], *(each["icon"] for each in containers)]:
        assert (SOURCE / name).exists(), name
