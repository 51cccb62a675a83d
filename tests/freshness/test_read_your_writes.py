"""Test whether the index counts as current, and the messages for that."""

from __future__ import annotations

from gnod.freshness.read_your_writes import FreshnessReport

CURRENT = FreshnessReport(pending=0, failed=0, unwatched=[], unavailable=[], unembedded=0)


def test_a_file_that_cannot_be_read_and_a_folder_that_is_polled_are_current() -> None:
    for report in (CURRENT, CURRENT._replace(failed=1), CURRENT._replace(unwatched=["nfs"])):
        assert (report.current, report.state) == (True, "current")


def test_the_state_says_what_the_index_lacks() -> None:
    states = {
        "syncing: 1 file is not indexed yet": CURRENT._replace(pending=1, failed=3),
        "syncing: 2,000 files are not indexed yet": CURRENT._replace(pending=2000),
        "1 chunk has no vector yet (`gnoctl embed` waits for it)": CURRENT._replace(unembedded=1),
        "1,200 chunks have no vector yet (`gnoctl embed` waits for them)": CURRENT._replace(unembedded=1200),
        "the folder of usb, nas is not available now: its documents stay in the index": CURRENT._replace(
            unavailable=["usb", "nas"], unwatched=["usb", "nas"]
        ),
        "syncing: 1 file is not indexed yet; the folder of usb is not available now: its documents stay in the index": (
            CURRENT._replace(pending=1, unavailable=["usb"])
        ),
    }
    for state, report in states.items():
        assert (report.current, report.state) == (False, state)
