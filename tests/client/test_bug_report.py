"""`gnoctl doctor --report` contains no word of the user, wherever the daemon or the log has one."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gnoctl.bug_report import BugReport
from gnod.client.opening import connect_now
from gnod.paths import IndexPaths
from gnod.protocol import index as i
from gnod.protocol.base import Freshness
from gnod.protocol.daemon import (
    Check,
    DaemonStatsResult,
    DoctorConfigResult,
    DoctorResult,
    EmbeddedChunks,
    MethodTimes,
    ProcessMemory,
)
from tests.client.conftest import Gnoctl
from tests.client.fake_daemon import FakeDaemon

# Each word of the user begins with this prefix, and no word of gnod does.
MARK = "zq"
WORDS = st.text("abcdéß日ж", max_size=4).map(MARK.__add__)
NAMES = st.lists(WORDS, min_size=1, max_size=4).flatmap(
    lambda words: st.sampled_from([" ", "/", "\\", ": ", '"', "\n", "#", "@"]).map(lambda between: between.join(words))
)


def config(name: str) -> dict[str, Any]:
    return {
        "version": name,
        "collections": [
            {
                "name": name,
                "path": f"/home/{name}",
                "exclude": [name],
                "update_command": name,
                "models": {"embed": name},
            }
        ],
        "contexts": [{"scope": name, "text": name}],
        "models": {"preset": "mini", "embed": f"https://{name}@example.org/v1#{name}"},
        "searches": [{"name": name, "query": name}],
        "viewers": [{"files": [name], "command": [name, name]}],
    }


def status(name: str) -> i.IndexStatusResult:
    collection = i.CollectionStatus(
        name=name, path=name, available=False, reason=name, on_disk=1, indexed=1, pending=0, failed=1,
        excluded=0, failed_by_kind={"corrupt": 1}, watch="polling", watch_reason=name, model=name,
    )  # fmt: skip
    return i.IndexStatusResult(
        index="default", database=name, database_bytes=1, documents=1, chunks=1, languages={"en": 1},
        collections=[collection], freshness=Freshness(current=False, state=f"waits for {name}", unavailable=[name]),
        embedding=i.EmbeddingStatus(state="failing", reason=name, model=name, pending=1, done=0, failed=0),
        syncing=False,
        inference=i.InferenceStatus(state="off", resident_bytes=0, models=[name], last_crash=name),
        downloads_due_s={name: 1.0}, config_file=name, config_warnings=[name], config_error=name,
        endpoints=[i.EndpointStatus(uri=name, roles=["embed"], addresses=[name], allowed=[name], left_out=[name])],
        storage_problems=[name],
    )  # fmt: skip


def stats(name: str) -> DaemonStatsResult:
    times = MethodTimes(
        method="search.lexical", calls=3, total_ms=9.5, failures={"query_syntax": 1}, p50_ms=3, p95_ms=4, last_ms=[4.25]
    )
    return DaemonStatsResult(
        uptime_s=1, connections=1, processes=[ProcessMemory(process="daemon", pid=1, resident_bytes=7_654_321)],
        methods=[times], pending_chunks=1, caches=[],
        embedded=[EmbeddedChunks(start="2026-11-26T09:00:00Z", model=name, chunks=12)],
    )  # fmt: skip


def checks(name: str) -> DoctorResult:
    shown = {
        "disk": f"1.5 GB free for /home/{name}", "config": name, f"collection {name}": name, f"model {name}": name,
        f"attached collection {name}": name, f"published {name}": name, name: name, "msgspec": f"1.0 in /opt/{name}",
    }  # fmt: skip
    return DoctorResult(healthy=False, checks=[Check(each, "error", message, name) for each, message in shown.items()])


def log(name: str) -> str:
    frames = f'  File "/opt/{MARK}/gnod/rpc/call.py", line 7, in run\n    f("{MARK}")\n'
    trace = f'{frames}  File "/home/{name}/gnod/x.py", line 8, in f\n  File "{name}", line 9, in f\nbuiltins.KeyError'
    records = [
        {
            "level": "info",
            "logger": "gnod.x",
            "event": "sync.done",
            "name": name,
            "took_s": 1.5,
            "collections": {name: 1},
        },
        {"level": "warning", "logger": name, "event": name},
        {"level": "warning", "logger": "urllib3", "event": f"GET {name}"},
        {"level": "debug", "logger": "gnod.x", "event": "query.parsed", "kind": MARK},
        {"level": "error", "logger": "gnod.x", "event": "request.failed", "traceback": trace},
        {"level": "error", "logger": "gnod.x", "event": "a.b", "traceback": f"Traceback (most recent …\n{name}"},
    ]
    return "".join(f"{json.dumps(record)}\n" for record in records) + f"{name} is not JSON\n"


def serve(daemon: FakeDaemon, name: str) -> None:
    daemon.answers |= {
        "doctor.config": DoctorConfigResult(config=config(name)),
        "doctor.run": checks(name),
        "index.status": status(name),
        "daemon.stats": stats(name),
    }
    daemon.places.log_file.parent.mkdir(parents=True, exist_ok=True)
    daemon.places.log_file.write_text(log(name), encoding="utf-8")


def test_no_word_of_the_users_is_in_it(daemon: FakeDaemon) -> None:
    @given(NAMES)
    def check(name: str) -> None:
        serve(daemon, name)
        with connect_now(daemon.places) as connection:
            text = BugReport(connection, with_names=False).text(daemon.places)
        assert MARK not in text
        assert '"last_ms": [\n        4.25' in text
        assert [
            word for word in ("query_syntax", "corrupt", "mini", "1.5 GB free", "7654321") if word not in text
        ] == []
        assert [word for word in ("sync.done", "gnod/rpc/call.py:7 run", "builtins.KeyError") if word not in text] == []

    check()


def test_a_name_has_one_number_everywhere(daemon: FakeDaemon) -> None:
    serve(daemon, f"{MARK}only")
    with connect_now(daemon.places) as connection:
        text = BugReport(connection, with_names=False).text(daemon.places)
    (number,) = {line.split('"')[-2] for line in text.splitlines() if line.startswith('      "name":')}
    assert f'"check":"collection {number}"' in text
    assert f'"name":"{number}","took_s":1.5' in text


def test_with_names_it_has_names_but_no_commands_and_queries(
    daemon: FakeDaemon, gnoctl: Gnoctl, tmp_path: Path
) -> None:
    serve(daemon, "Ada's notes")
    secret = {"update_command": "curl -H token", "path": "/home/ada"}
    daemon.answers["doctor.config"] = DoctorConfigResult(
        config={"collections": [secret], "searches": [{"query": "tag:illness"}]}
    )
    daemon.answers["doctor.run"] = DoctorResult(
        healthy=False, checks=[Check("config", "error", "curl -H token failed")]
    )
    file = tmp_path / "report.md"
    assert gnoctl("doctor", "--report", "--with-names", str(file)).status == 0
    text = file.read_text()
    assert [word for word in ("Ada's notes", "/home/ada", "… failed") if word not in text] == []
    assert [word for word in ("curl", "illness") if word in text] == []


def test_it_is_written_once_and_without_a_daemon_too(places: IndexPaths, gnoctl: Gnoctl, tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    done = gnoctl("doctor", "--report", str(file))
    assert (done.status, done.out) == (0, f"wrote {file}: read it before you send it\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert '"not available": "daemon_not_running"' in file.read_text()
    again = gnoctl("doctor", "--report", str(file))
    assert (again.status, "File exists" in again.err) == (2, True)
    assert gnoctl("doctor", "--with-names").status == 2
