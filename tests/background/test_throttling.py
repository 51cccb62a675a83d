"""What background work waits for: the plug, a charged battery, room on the disk; and that it goes on by itself."""

from __future__ import annotations

import asyncio
import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gnod.background import throttling
from gnod.background.embedding_backlog import BacklogState
from gnod.daemon import composition
from gnod.daemon.lifecycle import Control
from gnod.paths import IndexPaths
from gnod.rpc.stats import Stats
from tests.rpc.harness import places_in
from tests.systems import needs_linux
from tests.waiting import until

pytestmark = needs_linux("the imitation is of Linux's /sys")


class Supply:
    """What Linux shows of a laptop's power, in a folder of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        battery = folder / "BAT0"
        battery.mkdir(parents=True)
        for name, value in (("energy_full", 100), ("power_now", 5)):
            (battery / name).write_text(f"{value}\n")
        self.charge(50)
        (folder / "AC0").mkdir()
        self.plug(True)

    def charge(self, percent: int) -> None:
        (self.folder / "BAT0" / "energy_now").write_text(f"{percent}\n")

    def plug(self, plugged: bool) -> None:
        (self.folder / "AC0" / "online").write_text(f"{int(plugged)}\n")
        (self.folder / "BAT0" / "status").write_text("Charging\n" if plugged else "Discharging\n")


@pytest.fixture
def supply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Supply:
    # psutil's own way to the system is the edge that is imitated.
    monkeypatch.setattr("psutil._pslinux.POWER_SUPPLY_PATH", str(tmp_path / "power_supply"))
    return Supply(tmp_path / "power_supply")


def test_what_the_system_says(supply: Supply) -> None:
    assert throttling.low_battery(may_use_battery=False) is None
    supply.plug(False)
    assert throttling.low_battery(may_use_battery=False) == "the machine runs on battery"
    assert throttling.low_battery(may_use_battery=True) is None


def test_a_battery_that_is_nearly_empty(supply: Supply) -> None:
    supply.charge(14)
    assert throttling.low_battery(may_use_battery=True) is None, "it is being charged"
    supply.plug(False)
    low = "the battery is low (14 %): work continues when it is charged"
    assert throttling.low_battery(may_use_battery=True) == low
    supply.charge(15)
    assert throttling.low_battery(may_use_battery=True) is None


def test_a_machine_without_a_battery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil._pslinux.POWER_SUPPLY_PATH", str(tmp_path))
    assert throttling.low_battery(may_use_battery=False) is None


def test_room_on_the_disk(tmp_path: Path) -> None:
    assert throttling.low_disk(tmp_path / "not there") is None
    disk = tmp_path / "disk"
    disk.mkdir()
    # A disk of 4 MB, in a namespace of its own: it goes with the process.
    script = """
        import sys
        from pathlib import Path
        from gnod.background.throttling import low_disk
        disk = Path(sys.argv[1])
        print(low_disk(disk))
        with (disk / "full").open("wb") as file:
            file.write(bytes(4096 * (1024 - 8)))
        print(low_disk(disk))
        (disk / "full").unlink()
        print(low_disk(disk))
    """
    mount = f"mount -t tmpfs -o size=4m none {disk} && exec {sys.executable} -c '{inspect.cleandoc(script)}' {disk}"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no disk can be made here: {done.stderr.strip()}")
    low = f"less than 1 % of the disk that holds {disk} is free: work continues when there is more"
    assert done.stdout.splitlines() == ["None", low, "None"], done.stderr


@pytest.mark.slow
async def test_the_backlog_waits_for_mains_power(supply: Supply, short_tmp: Path, minilm_onnx: Path) -> None:
    supply.plug(False)
    places = _places(short_tmp, minilm_onnx)
    served = await composition.start(places, Stats(), Control())
    try:
        await served.freshness.refresh(["notes"], embedded=True)
        state = served.backlog.state()
        assert (state.state, state.reason, state.pending) == ("waiting", "the machine runs on battery", 1)
        assert served.inference.status().state == "off", "no model is loaded for nothing"
        supply.plug(True)
        following = asyncio.create_task(served.backlog.follow())
        await until(lambda: served.backlog.state().reason is None)
        state = served.backlog.state()
        assert (state.state, state.pending) == ("embedding", 1), "the model is loading"
        state = await asyncio.wait_for(following, 60)
        assert (state.state, state.reason, state.pending, state.done) == ("idle", None, 0, 1)
    finally:
        await served.close()


@pytest.mark.slow
async def test_a_setting_that_uses_the_battery(supply: Supply, short_tmp: Path, minilm_onnx: Path) -> None:
    supply.plug(False)
    places = _places(short_tmp, minilm_onnx, "models: {embed_on_battery: true}\n")
    served = await composition.start(places, Stats(), Control())
    try:
        await served.freshness.refresh(["notes"], embedded=True)
        assert served.backlog.state().pending == 0
    finally:
        await served.close()


@pytest.mark.slow
async def test_the_backlog_waits_for_disk_space_and_continues_by_itself(
    short_tmp: Path, minilm_onnx: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(short_tmp)._replace(total=1000, free=9)
    monkeypatch.setattr("shutil.disk_usage", lambda _: full)  # the system's edge
    monkeypatch.setattr("gnod.background.throttling.CHECK_AGAIN_S", 0.05)
    places = _places(short_tmp, minilm_onnx)
    served = await composition.start(places, Stats(), Control())
    try:
        told: list[BacklogState] = []
        served.backlog.changed.connect(told.append)
        await served.freshness.refresh(["notes"], embedded=True)
        state = served.backlog.state()
        assert state.state == "waiting"
        assert state.reason == throttling.low_disk(places.database.parent)
        await asyncio.sleep(0.5)
        assert told[-1] == state, "what did not change is not told again"
        assert told.count(state) == 1
        monkeypatch.undo()
        await until(lambda: not served.backlog.state().pending)  # it looks by itself
        await served.backlog.follow()
        assert {(s.state, s.pending) for s in told} >= {("embedding", 0), ("idle", 0)}
        assert told[-1] == served.backlog.state()
    finally:
        await served.close()


def _places(folder: Path, model: Path, settings: str = "") -> IndexPaths:
    places = places_in(folder)
    notes = folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Zebra\n\nStripes.\n")
    places.config_file.parent.mkdir(parents=True, exist_ok=True)
    places.config_file.write_text(
        f'collections:\n  - {{name: notes, path: {notes}, models: {{embed: "file:{model}"}}}}\n{settings}'
    )
    return places
