"""The files that `gnoctl service install` writes."""

from __future__ import annotations

import configparser
import os
import plistlib
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gnoctl.service import MARK, THROTTLE_S, refuse_foreign, shipped, write_file
from gnoctl.service.launchd import Launchd
from gnoctl.service.systemd import Systemd
from gnod.daemon.notify import LAUNCHD
from gnod.errors import Refused
from gnod.paths import IndexPaths, resolve
from tests.client.conftest import Gnoctl
from tests.systems import needs_linux

ROOT = Path(__file__).parents[2]

# The keys of launchd.plist(5) that gnod uses, with their types.
_DOCUMENTED: dict[str, type] = {
    **dict.fromkeys(("Label", "WorkingDirectory", "ProcessType", "StandardOutPath", "StandardErrorPath"), str),
    **dict.fromkeys(("EnvironmentVariables", "KeepAlive", "SoftResourceLimits", "HardResourceLimits"), dict),
    **dict.fromkeys(("ThrottleInterval", "ExitTimeOut", "Nice", "Umask"), int),
    "ProgramArguments": list,
    "RunAtLoad": bool,
}


@pytest.fixture
def home(places: IndexPaths, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = places.cache_dir.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(variable, raising=False)
    return home


def settings(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


def test_the_units_have_the_settings_of_a_good_service(places: IndexPaths, home: Path) -> None:
    units = Systemd(places)
    service = settings(units.service_text())["Service"]
    assert service["Type"] == "notify"
    assert service["ExecStart"] == f'"{sys.executable}" "-P" "-m" "gnod" "--index" "default"'
    assert service["KillMode"] == "mixed", "the daemon ends its workers itself"
    assert (service["Restart"], service["RestartPreventExitStatus"]) == ("on-failure", "1")
    assert int(service["WatchdogSec"]) >= 60, "twice in that time the daemon wakes up"
    for name in ("NoNewPrivileges", "ProtectSystem", "MemoryMax", "TasksMax", "Nice"):
        assert service[name]
    assert service["OOMPolicy"] == "continue", "a worker that is killed ends no daemon"
    socket = settings(units.socket_text())["Socket"]
    assert (socket["ListenStream"], socket["SocketMode"]) == ("%t/gno/default.sock", "0600")
    assert socket["DirectoryMode"] == "0700"


def test_the_service_sees_the_places_of_this_shell(
    places: IndexPaths, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNO_SOCKET", str(home / "100% mine.sock"))
    monkeypatch.delenv("GNO_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / 'with "quotes"'))
    monkeypatch.setenv("PATH", "/usr/bin:/opt/$tools")
    units = Systemd(resolve("work"))
    environment = settings(units.service_text())["Service"]["Environment"]
    assert '"PATH=/usr/bin:/opt/$tools"' in environment
    assert f'"GNO_CONFIG_DIR={places.config_dir}"' in environment
    assert f'"GNO_DATA_DIR={home}/with \\"quotes\\"/gno"' in environment
    assert f'"GNO_SOCKET={home}/100%% mine.sock"' in environment
    assert settings(units.socket_text())["Socket"]["ListenStream"] == f"{home}/100%% mine.sock"
    agent = plistlib.loads(Launchd(resolve("work")).text().encode())
    assert agent["EnvironmentVariables"]["GNO_SOCKET"] == str(home / "100% mine.sock")


def test_each_index_has_units_of_its_own(home: Path) -> None:
    assert [path.name for path in Systemd(resolve("default")).files] == ["gnod.socket", "gnod.service"]
    work = Systemd(resolve("work"))
    assert [path.name for path in work.files] == ["gnod-work.socket", "gnod-work.service"]
    assert work.files[0].parent == home / ".config/systemd/user"
    assert '"--index" "work"' in work.service_text()
    assert "%t/gno/work.sock" in work.socket_text()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("index", ["default", "work"])
def test_systemd_finds_no_fault(index: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/opt/a b/100%/$x\\y")
    units = Systemd(resolve(index))
    for path, text in zip(units.files, (units.socket_text(), units.service_text()), strict=True):
        write_file(path, text)
    command = ["systemd-analyze", "verify", "--user", "--man=no", "--recursive-errors=yes", *map(str, units.files)]
    # systemd-analyze creates runtime folders, and must not create them in the user's folder.
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(home), "SYSTEMD_LOG_LEVEL": "warning"}
    checked = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    ours = [line for line in checked.stderr.splitlines() if "gnod" in line]
    assert (checked.returncode, ours) == (0, []), checked.stderr


def test_the_agent_is_a_plist_of_documented_keys(places: IndexPaths, home: Path) -> None:
    agent = Launchd(places)
    made: dict[str, Any] = plistlib.loads(agent.text().encode())
    for key, value in made.items():
        assert isinstance(value, _DOCUMENTED[key]), key
    assert made["Label"] == "local.gnod.default"
    assert agent.files == (home / "Library/LaunchAgents/local.gnod.default.plist",)
    assert made["ProgramArguments"] == [sys.executable, "-P", "-m", "gnod", "--index", "default"]
    assert made["KeepAlive"] == {"SuccessfulExit": False}, "status 0 is an end that was asked for"
    assert made["ThrottleInterval"] == THROTTLE_S, "gnoctl waits for it"
    assert made["ProcessType"] in ("Background", "Standard", "Adaptive", "Interactive")
    assert made["Umask"] == 0o077
    assert made["HardResourceLimits"] == {"Core": 0}
    assert all(isinstance(value, str) for value in made["EnvironmentVariables"].values())
    assert made["StandardErrorPath"] == str(places.data_dir / "logs" / "gnod-default.start.log")
    assert MARK in agent.text()


# It stores the loaded agents in a file, and answers like the real launchctl.
_LAUNCHCTL = """#!/bin/sh
cd "$HOME" || exit 1
echo "$*" >> calls
case "$1 $2" in
    "print gui/"*/*) test -e loaded && printf 'gui = {\\n\\tpid = 42\\n}\\n' || exit 113 ;;
    "bootstrap "*) cp "$3" loaded ;;
    "bootout "*) rm loaded ;;
esac
"""


def test_an_agent_is_loaded_once_and_unloaded(places: IndexPaths, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "bin").mkdir()
    (home / "bin/launchctl").write_text(_LAUNCHCTL)
    (home / "bin/launchctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{home}/bin:{os.environ['PATH']}")
    agent = Launchd(places)
    assert agent.state()[:5] == (LAUNCHD, None, False, False, False)
    assert agent.missing() is None
    agent.write()
    agent.end()
    agent.enable()
    agent.start()
    agent.start()
    state = agent.state()
    assert (state.installed, state.starts, state.running, state.pid) == (True, True, True, 42)
    assert plistlib.loads((home / "loaded").read_bytes())["Label"] == "local.gnod.default"
    agent.end()
    agent.remove()
    assert agent.state().files == []
    target = f"gui/{os.getuid()}/local.gnod.default"
    calls = [line for line in (home / "calls").read_text().splitlines() if not line.startswith("print")]
    bootstrap = f"bootstrap gui/{os.getuid()} {agent.files[0]}"
    assert calls == [f"enable {target}", bootstrap, *[f"kickstart {target}"] * 2, f"bootout {target}"]


@needs_linux("systemd's units are meant")
@pytest.mark.parametrize("has_systemctl", [False, True])
def test_without_a_service_manager_it_says_so(
    has_systemctl: bool, gnoctl: Gnoctl, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_systemctl:
        if (systemctl := shutil.which("systemctl")) is None:
            pytest.skip("systemd is not installed")
        (home / "systemctl").symlink_to(systemctl)
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
    reason = "systemd cannot run services of this user" if has_systemctl else "systemd is not installed"
    outcome = gnoctl("service", "status")
    assert (outcome.status, outcome.err) == (3, "")
    assert reason in outcome.out
    assert "gnoctl starts gnod when it is needed" in outcome.out
    refused = gnoctl("service", "install")
    assert refused.status == 2
    assert reason in refused.err
    assert gnoctl("service", "uninstall").out.startswith("gnod is not a service")
    assert not (home / ".config/systemd").exists()


@needs_linux("systemd's units are meant")
def test_a_foreign_unit_is_not_changed(gnoctl: Gnoctl, home: Path) -> None:
    unit = home / ".config/systemd/user/gnod.service"
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/opt/mine\n")
    assert "was not written by gnoctl" in gnoctl("service", "uninstall").err
    assert unit.read_text() == "[Service]\nExecStart=/opt/mine\n"
    unit.unlink()
    unit.symlink_to("/dev/null")  # `systemctl mask`
    with pytest.raises(Refused, match="move it away"):
        refuse_foreign(unit)


def test_where_the_daemon_is_a_service_asking_does_not_start_it(gnoctl: Gnoctl, home: Path) -> None:
    service = Systemd(resolve()) if sys.platform == "linux" else Launchd(resolve())
    write_file(service.files[0], MARK)
    for verb in ("status", "stop"):
        outcome = gnoctl("daemon", verb)
        assert outcome.status == 3
        assert "is a service for index 'default' and is not running now" in outcome.err


def test_a_wheel_brings_the_patterns_along() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    for folder, target in build["wheel"]["force-include"].items():
        assert target == f"gnoctl/service/patterns/{folder}"
        for path in (ROOT / folder).iterdir():
            assert shipped(f"{folder}/{path.name}") == path.read_text()


def test_a_unit_of_the_system_counts_once_it_is_enabled(home: Path) -> None:
    units = Systemd(resolve("default"))
    assert not units.is_installed()
    link = home / ".config/systemd/user/sockets.target.wants/gnod.socket"
    link.parent.mkdir(parents=True)
    link.symlink_to("/usr/lib/systemd/user/gnod.socket")
    assert units.is_installed()
    assert not Systemd(resolve("work")).is_installed()
