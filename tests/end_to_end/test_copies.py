"""Files with the same bytes are one hit that names the others, in every interface."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from gnoctl.mcp import output_text
from gnod.client import Client
from tests.machine import Machine, temporary_machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

KAYAK = "# Kayaks\n\nThe kayak weighs 21 kg. It glides over the lake.\n"
PLACES = {"notes/a.md", "notes/b/a.md", "notes/old/2024/a.md", "more/a.md"}


@pytest.fixture(scope="module")
def copied(minilm_onnx: Path, measured_models: Path) -> Iterator[Machine]:
    with temporary_machine() as machine:
        machine.place(measured_models)
        more = machine.folder / "more"
        more.mkdir()
        machine.write(a_md=KAYAK, b__a_md=KAYAK, old__2024__a_md=KAYAK)
        (more / "a.md").write_text(KAYAK)
        for number in range(12):
            (more / f"other{number}.md").write_text(f"# Boats {number}\n\nA kayak and {number} boats at the pier.\n")
        machine.configure(more, embed=minilm_onnx)
        machine.ok("update")
        machine.ok("embed")
        yield machine


def places(hit: dict[str, Any]) -> list[str]:
    return [f"{each['collection']}/{each['path']}" for each in (hit, *hit["also"])]


def test_similar_documents_too(copied: Machine) -> None:
    result = copied.json("similar", "more/other3.md", "--limit", "50")
    assert len(result["hits"]) == result["total"] == 12
    assert [set(places(hit)) for hit in result["hits"] if hit["also"]] == [PLACES]


def test_people_and_programs_see_the_other_paths(copied: Machine) -> None:
    place, also = copied.ok("search", "glides").splitlines()[1:3]
    assert place.startswith("more/a.md:")
    assert also == "  also: notes/a.md, notes/b/a.md, notes/old/2024/a.md"
    (row,) = csv.DictReader(StringIO(copied.ok("search", "glides", "--csv")))
    assert row["also"] == "gno://notes/a.md gno://notes/b/a.md gno://notes/old/2024/a.md"


def test_quotes_and_evidence_name_them(copied: Machine) -> None:
    answer = copied.json("ask", "How much does the kayak weigh?")
    assert answer["quotes"][0]["text"] == "The kayak weighs 21 kg."
    assert set(places(answer["quotes"][0])) == PLACES
    assert "  also: notes/a.md" in copied.ok("ask", "How much does the kayak weigh?")
    packet = copied.json("evidence", "How much does the kayak weigh?")
    assert set(places(packet["passages"][0])) == PLACES
    assert "  also: notes/a.md" in copied.ok("evidence", "How much does the kayak weigh?")


def test_agents_see_them(copied: Machine) -> None:
    with Client.connect(socket=copied.socket, start=False) as client:
        shown = output_text.search(client.search("glides"))
    assert "also: gno://notes/a.md, gno://notes/b/a.md, gno://notes/old/2024/a.md\n" in shown
