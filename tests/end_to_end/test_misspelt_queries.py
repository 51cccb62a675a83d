"""A misspelt query through the command line, the daemon and its clients."""

from __future__ import annotations

import pytest

from tests.machine import Machine

pytestmark = pytest.mark.slow

SHOWING = 'Showing results for "certificate" (you wrote "certifcate")'


def test_a_misspelt_query_from_the_command_line(machine: Machine) -> None:
    machine.write(
        tls_md="# TLS\n\nRenew the certificate of the server.\n",
        zoll_md="# Zoll\n\nDer Zolltarif wurde im Januar vom Ministerium geändert.\n",
    )
    machine.run("init", str(machine.notes))
    shown = machine.ok("search", "renew", "certifcate", "--explain")
    assert shown.startswith(SHOWING)
    assert "notes/tls.md:3" in shown
    assert "corrections certifcate → certificate" in shown
    found = machine.json("search", "certifcate")
    assert found["corrections"] == [{"written": "certifcate", "searched": "certificate"}]
    (hit,) = found["hits"]
    assert [hit["snippet"][start:end] for start, end in hit["marks"]] == ["certificate"]
    for exact in (["certifcate", "--exact"], ['"certifcate"']):
        assert machine.json("search", *exact)["hits"] == []
    assert machine.json("query", "certifcate")["corrections"] == found["corrections"]
    assert SHOWING in machine.ok("ask", "when do we renew the certifcate", "--no-generate")
    assert SHOWING in machine.ok("evidence", "renew certifcate")
    for query in ("Tarif", "zoll*", "*tarif"):
        assert [hit["path"] for hit in machine.json("search", query)["hits"]] == ["zoll.md"], query
    assert [hit["path"] for hit in machine.json("query", "*olltar*")["hits"]] == ["zoll.md"]
    short = machine.run("search", "a*")
    assert short.returncode == 2
    assert "write part* or *part*" in short.stderr
