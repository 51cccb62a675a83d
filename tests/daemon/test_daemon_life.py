"""The life of real daemon processes: start, signals, `daemon.shutdown`, a second daemon."""

from __future__ import annotations

import json
import signal

import pytest

from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION
from tests.daemon.small_daemon_process import Daemon, daemon, send


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_an_idle_daemon_in_order(number: signal.Signals) -> None:
    with daemon() as served:
        assert served.call("daemon.status")["result"]["requests"] == 1
        served.signal(number)
        served.ends_with("closing while the socket is there", "closed", "clean")
        assert served.places.lock_file.exists()


def test_a_request_within_the_grace_period_is_answered() -> None:
    with daemon() as served:
        with served.connection() as stream:
            send(stream, "doctor.run")
            served.hears("nap begun")
            served.signal(signal.SIGTERM)
            assert json.loads(stream.readline())["result"] == {"stopping": False}
        served.ends_with("closing while the socket is there", "closed", "clean")


def test_a_request_beyond_the_grace_period_fails_with_the_reason() -> None:
    with daemon() as served:
        with served.connection() as stream:
            send(stream, "index.sync")
            served.hears("sync begun")
            served.signal(signal.SIGTERM)
            assert json.loads(stream.readline())["error"]["data"]["kind"] == "shutting_down"
        served.ends_with("sync cancelled", "closing while the socket is there", "closed", "clean")


def test_the_shutdown_method_answers_first() -> None:
    with daemon() as served:
        assert served.call("daemon.shutdown")["result"] == {"stopping": True}
        served.ends_with("closing while the socket is there", "closed", "clean")


def test_a_second_signal_waits_for_nothing() -> None:
    with daemon("--stuck-close") as served:
        served.signal(signal.SIGTERM)
        served.hears("closing while the socket is there")
        served.signal(signal.SIGTERM)
        served.ends_with("forced")


def test_a_signal_during_the_start_ends_it() -> None:
    with daemon("--slow-start", becomes_ready=False) as served:
        served.hears("starting")
        served.signal(signal.SIGTERM)
        served.ends_with("start cancelled", "clean")


def test_a_start_that_fails_leaves_nothing_behind() -> None:
    with daemon("--bad-config", becomes_ready=False) as served:
        served.ends_with("the config file is no YAML", status=EXIT_VALIDATION)


def test_a_hangup_reloads_and_a_reload_that_fails_stops_nothing() -> None:
    with daemon() as served:
        for count in (1, 2, 3):
            served.signal(signal.SIGHUP)
            served.hears(f"reload {count}")
        assert "result" in served.call("daemon.status")


def test_a_second_daemon_is_refused_and_the_first_goes_on() -> None:
    with daemon() as served:
        second = Daemon(served.places.data_dir.parent)
        message, _ = second.process.communicate(timeout=60)
        assert message == f"another gnod (pid {served.process.pid}) already serves index 'default'\n"
        assert second.process.returncode == EXIT_RUNTIME
        assert "result" in served.call("daemon.status")


def test_a_killed_daemon_does_not_block_the_next() -> None:
    with daemon() as served:
        served.signal(signal.SIGKILL)
        served.process.communicate(timeout=60)
        assert served.places.socket.exists()
        second = Daemon(served.places.data_dir.parent)
        try:
            second.hears("ready")
            assert "result" in second.call("daemon.status")
        finally:
            second.process.kill()
            second.process.communicate()
