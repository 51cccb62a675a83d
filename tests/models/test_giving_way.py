"""Background work in the inference worker gives way to searches, but still makes progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Thread

import pytest

from gnod.models.run import worker
from gnod.models.run.worker import GivingWay

FOR_EVER_S = 3600.0


def blocked(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(0.2)
    assert thread.is_alive()
    return thread


def test_background_work_rests_until_the_last_search_is_over_for_a_while() -> None:
    way, ended = GivingWay(), list[float]()

    def rest() -> None:
        way.rest(FOR_EVER_S)
        ended.append(time.monotonic())

    with way.searching(1):
        with way.searching(2):
            resting = blocked(rest)
        resting.join(0.5)
        assert resting.is_alive(), "one of two searches goes on"
        searched_at = time.monotonic()
    resting.join(60)
    assert ended[0] >= searched_at + worker._QUIET_S, "the search goes on in the daemon, or another one follows"


def test_searches_without_end_do_not_starve_it() -> None:
    way = GivingWay()
    with way.searching(1):
        resting = Thread(target=lambda: way.rest(0.05), daemon=True)
        resting.start()
        resting.join(60)
        assert not resting.is_alive()


def test_an_answer_that_is_written_waits_until_it_is_stopped() -> None:
    way, stopped = GivingWay(), [False]
    with way.searching(1):
        waiting = blocked(lambda: way.wait(lambda: stopped[0]))
        stopped[0] = True
        waiting.join(60)
        assert not waiting.is_alive()
    way.wait(lambda: False)


def test_a_failed_search_is_over() -> None:
    way = GivingWay()
    with pytest.raises(ZeroDivisionError), way.searching(1):
        raise ZeroDivisionError
    way.rest(FOR_EVER_S)
