"""The selector of the worker's loop is one like others: what it finds, and when it stops looking."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from stepwell.emulator.worker.workerd.selector import EagerSelector

Pair = tuple[EagerSelector, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A selector that watches one end of a connection, and the other end."""
    watched, other = socket.socketpair()
    with EagerSelector() as selector, watched, other:
        selector.register(watched, selectors.EVENT_READ)
        yield selector, other


def test_what_is_ready_is_found_at_once(pair: Pair) -> None:
    selector, other = pair
    other.send(b"x")

    assert len(selector.select(10)) == 1


def test_nothing_is_found_when_the_time_is_over(pair: Pair) -> None:
    selector, _ = pair

    assert selector.select(0) == []
    assert selector.select(0.01) == []


@pytest.mark.parametrize("timeout", [0, 0.000_01, 10, None])
def test_after_a_short_wait_the_next_finds_the_same(pair: Pair, timeout: float | None) -> None:
    selector, other = pair
    other.send(b"x")
    selector.select(10)

    assert len(selector.select(timeout)) == 1


def test_after_a_short_wait_a_long_one_is_slept_through(pair: Pair) -> None:
    selector, other = pair
    other.send(b"x")
    (key, _), *_ = selector.select(10)
    key.fileobj.recv(1)  # type: ignore[union-attr]
    threading.Timer(0.05, other.send, [b"y"]).start()

    assert len(selector.select(10)) == 1


def test_who_waits_for_long_takes_no_cpu(pair: Pair) -> None:
    selector, other = pair
    other.send(b"x")
    (key, _), *_ = selector.select(10)
    key.fileobj.recv(1)  # type: ignore[union-attr]
    used = time.process_time()

    for _ in range(3):
        selector.select(0.1)

    assert time.process_time() - used < 0.1
