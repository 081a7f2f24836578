"""Progress is for people: on stderr, on a terminal unless asked for, with the time left."""

import io
import sys

import pytest

from mercer.runtime import progress as module
from mercer.runtime.progress import Progress, duration


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def shown(monkeypatch, clock, stream, verbose, total=3):
    monkeypatch.setattr(sys, "stderr", stream)
    progress = Progress("model selection", total, verbose)
    for _ in range(total):
        clock[0] += 2.0
        progress.step()
    return stream.getvalue()


def test_silence_is_the_default_until_work_takes_five_seconds_on_a_terminal(monkeypatch, clock):
    assert shown(monkeypatch, clock, io.StringIO(), verbose=0) == ""
    text = shown(monkeypatch, clock, Terminal(), verbose=0)
    assert "1 of 3" not in text
    assert "model selection: 3 of 3, 6.0 s spent" in text


def test_short_work_is_not_told_in_a_file_unless_asked_for(monkeypatch, clock):
    assert shown(monkeypatch, clock, io.StringIO(), verbose=1) == ""


def test_on_a_terminal_one_line_is_written_over(monkeypatch, clock):
    text = shown(monkeypatch, clock, Terminal(), verbose=1)
    assert text.count("\r") == 3
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert "model selection: 1 of 3, 2.0 s spent, 4.0 s left" in text
    assert "model selection: 3 of 3, 6.0 s spent, 0 ms left" in text


def test_elsewhere_every_message_is_a_line(monkeypatch, clock):
    text = shown(monkeypatch, clock, io.StringIO(), verbose=2)
    assert "\r" not in text
    assert [line.split(",")[0] for line in text.splitlines()] == [f"model selection: {i} of 3" for i in (1, 2, 3)]
    assert "2.0 s left" in text


def test_fast_work_is_not_reported_piece_by_piece(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    progress = Progress("work", 1000, 1)
    for _ in range(999):
        clock[0] += 0.001
        progress.step()
    assert stream.getvalue().count("\r") == 1
    progress.step()
    assert stream.getvalue().count("\r") == 2


def test_nothing_to_do_is_no_division_by_zero(monkeypatch, clock):
    progress = Progress("work", 0, 0)
    progress.step()
    assert progress.done == 1


def test_pieces_that_have_a_name_are_told_with_their_rate(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    progress = Progress("one pass", 1000, 1, "rows", done=400)
    clock[0] += 5.0
    progress.begin()
    clock[0] += 2.0
    progress.step(200)
    assert "one pass: 600 of 1000 rows, 100 rows/s, 2.0 s spent, 4.0 s left" in stream.getvalue()
    clock[0] += 4.0
    progress.step(400)
    progress.finish()
    assert stream.getvalue().count("\n") == 1


def test_without_a_total_the_rate_alone_is_told(monkeypatch, clock):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    progress = Progress("one pass", None, 1, "rows")
    progress.finish()
    assert stream.getvalue() == ""
    for _ in range(2):
        clock[0] += 1.0
        progress.step(50)
    progress.finish()
    assert stream.getvalue().split("\r")[-1].rstrip(" ") == f"{'one pass: 100 rows, 50 rows/s, 2.0 s spent':<70}\n"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 ms"),
        (0.94, "940 ms"),
        (0.96, "1.0 s"),
        (9.94, "9.9 s"),
        (12.3, "12 s"),
        (59.4, "59 s"),
        (59.7, "60 s"),
        (60.0, "1 min 0 s"),
        (3599.0, "59 min 59 s"),
        (3600.0, "1 h 0 min"),
        (90061.0, "25 h 1 min"),
    ],
)
def test_durations_are_said_as_people_say_them(seconds, words):
    assert duration(seconds) == words


def test_long_work_is_told_every_ten_seconds_where_there_is_no_terminal(monkeypatch, clock):
    text = shown(monkeypatch, clock, io.StringIO(), verbose=1, total=12)
    assert [line.split(",")[0] for line in text.splitlines()] == [f"model selection: {i} of 12" for i in (5, 10, 12)]
    assert "10 s spent, 14 s left" in text
