"""On battery nothing is embedded, and what waits goes on when the machine is plugged in."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from gnod.paths import Places
from gnod.server import services
from gnod.server.power import on_battery
from gnod.server.stats import Stats
from tests.server.harness import places_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the imitation is of Linux's /sys")


class Supply:
    """What Linux shows of a laptop's power, in a folder of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        battery = folder / "BAT0"
        battery.mkdir(parents=True)
        for name, value in (("energy_now", 50), ("energy_full", 100), ("power_now", 5), ("capacity", 50)):
            (battery / name).write_text(f"{value}\n")
        (folder / "AC0").mkdir()
        self.plug(True)

    def plug(self, plugged: bool) -> None:
        (self.folder / "AC0" / "online").write_text(f"{int(plugged)}\n")
        (self.folder / "BAT0" / "status").write_text("Charging\n" if plugged else "Discharging\n")


@pytest.fixture
def supply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Supply:
    # psutil's own way to the system is the edge that is imitated.
    monkeypatch.setattr("psutil._pslinux.POWER_SUPPLY_PATH", str(tmp_path / "power_supply"))
    return Supply(tmp_path / "power_supply")


def test_what_the_system_says(supply: Supply) -> None:
    assert not on_battery()
    supply.plug(False)
    assert on_battery()


def test_a_machine_without_a_battery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil._pslinux.POWER_SUPPLY_PATH", str(tmp_path))
    assert not on_battery()


@pytest.mark.slow
async def test_the_backlog_waits_for_the_plug(supply: Supply, short_tmp: Path, minilm_gguf: Path) -> None:
    supply.plug(False)
    places = _places(short_tmp, minilm_gguf)
    served = await services.start(places, Stats(), lambda: None)
    try:
        index = served.index
        await index.make_fresh(["notes"], embedded=True)
        state = index.backlog.state()
        assert (state.state, state.reason, state.pending) == ("waiting", "the machine runs on its battery", 1)
        assert index.inference.status().state == "off", "no model is loaded for nothing"
        supply.plug(True)
        state = await asyncio.wait_for(index.backlog.follow(), 60)
        assert (state.state, state.reason, state.pending, state.done) == ("idle", None, 0, 1)
    finally:
        await served.close()


@pytest.mark.slow
async def test_a_setting_that_uses_the_battery(supply: Supply, short_tmp: Path, minilm_gguf: Path) -> None:
    supply.plug(False)
    places = _places(short_tmp, minilm_gguf, "models: {embed_on_battery: true}\n")
    served = await services.start(places, Stats(), lambda: None)
    try:
        await served.index.make_fresh(["notes"], embedded=True)
        assert served.index.backlog.state().pending == 0
    finally:
        await served.close()


def _places(folder: Path, model: Path, settings: str = "") -> Places:
    places = places_in(folder)
    notes = folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Zebra\n\nStripes.\n")
    places.config_file.parent.mkdir(parents=True, exist_ok=True)
    places.config_file.write_text(
        f'collections:\n  - {{name: notes, path: {notes}, models: {{embed: "file:{model}"}}}}\n{settings}'
    )
    return places
