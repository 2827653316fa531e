"""The waits before reconnects, and the limit after which they stop."""

import dataclasses
import random
import threading
import time
from collections.abc import Callable

from millrace._errors import ConnectionLost, Unavailable


class Clock:
    """The clock for waits. A test can replace it."""

    def now(self) -> float:
        """Seconds since a fixed moment."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Returns after `seconds`, or as soon as the event is set."""
        event.wait(seconds)


@dataclasses.dataclass(frozen=True)
class Reconnect:
    """How a subscription reconnects. All times are in seconds.

    The wait doubles with every failed attempt, from `first_wait` to `longest_wait`. Each wait is
    shortened by up to a half at random, so that the clients of a server do not all return at once.
    If the server names a wait, it is the minimum.
    """

    first_wait: float = 0.2
    longest_wait: float = 10.0
    # Gives up after this time without a connection. 0: at once. None: never.
    give_up_after: float | None = 300.0
    # For tests: the clock, and random numbers from 0 up to 1.
    clock: Clock = dataclasses.field(default_factory=Clock)
    draw: Callable[[], float] = random.random


class Backoff:
    """Counts the attempts of one subscription. Not thread-safe."""

    # A call that lasted this many seconds counts as connected, even if it brought no answer.
    STANDS_AFTER = 1.0

    def __init__(self, reconnect: Reconnect):
        self._reconnect = reconnect
        self._tries = 0
        self._lost_at: float | None = None

    def connected(self) -> None:
        """Records a connection: the next wait is the shortest again."""
        self._tries = 0
        self._lost_at = None

    def wait_after(self, error: Unavailable) -> float:
        """The seconds to wait before the next attempt. Raises ConnectionLost when the time limit is
        reached; the last attempt is made exactly at the limit."""
        now = self._reconnect.clock.now()
        if self._lost_at is None:
            self._lost_at = now
        self._tries += 1
        left = self._left(now)
        if left <= 0:
            raise self._given_up(error, now - self._lost_at) from error
        return min(self._next_wait(error), left)

    def _left(self, now: float) -> float:
        if self._reconnect.give_up_after is None or self._lost_at is None:
            return float("inf")
        return self._lost_at + self._reconnect.give_up_after - now

    def _next_wait(self, error: Unavailable) -> float:
        doublings = min(self._tries - 1, 30)  # Far beyond any wait, but without overflow.
        longest = min(self._reconnect.first_wait * 2.0**doublings, self._reconnect.longest_wait)
        wait = longest * (1 - self._reconnect.draw() / 2)
        return max(wait, error.retry_delay.total_seconds() if error.retry_delay else 0)

    def _given_up(self, error: Unavailable, lost_s: float) -> ConnectionLost:
        words = f"{error.message} (given up after {lost_s:.0f} s, try {self._tries})"
        return ConnectionLost(words, code=error.code, details=error.details)
