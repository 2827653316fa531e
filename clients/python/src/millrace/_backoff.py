"""How long to wait before connecting again, and when to give up."""

import dataclasses
import random
import threading
import time
from collections.abc import Callable

from millrace._errors import ConnectionLost, Unavailable


class Clock:
    """The time that waits go by. A test has one of its own."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Returns after so many seconds, or as soon as the event is set."""
        event.wait(seconds)


@dataclasses.dataclass(frozen=True)
class Reconnect:
    """How a subscription connects again. All times are in seconds.

    The wait doubles with every try in vain, from `first_wait` to `longest_wait`; each is shortened
    by up to a half at random, so that not all clients of a server come back at once. Where the
    server says how long to wait, it is that long at least.
    """

    first_wait: float = 0.2
    longest_wait: float = 10.0
    # A connection is given up after so long without one. 0: at once. None: never.
    give_up_after: float | None = 300.0
    # For tests: the time, and numbers from 0 up to 1.
    clock: Clock = dataclasses.field(default_factory=Clock)
    draw: Callable[[], float] = random.random


class Backoff:
    """Counts the tries of one subscription. Not thread-safe."""

    # A call that stood for so long, in seconds, was no try in vain, even if nothing came of it.
    STANDS_AFTER = 1.0

    def __init__(self, reconnect: Reconnect):
        self._reconnect = reconnect
        self._tries = 0
        self._lost_at: float | None = None

    def connected(self) -> None:
        """There is a connection: what comes next begins with the shortest wait."""
        self._tries = 0
        self._lost_at = None

    def wait_after(self, error: Unavailable) -> float:
        """How many seconds to wait before the next try. Raises ConnectionLost when it is time to
        give up; the last try is made just then."""
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
        doublings = min(self._tries - 1, 30)  # Far beyond any wait, and no overflow.
        longest = min(self._reconnect.first_wait * 2.0**doublings, self._reconnect.longest_wait)
        wait = longest * (1 - self._reconnect.draw() / 2)
        return max(wait, error.retry_delay.total_seconds() if error.retry_delay else 0)

    def _given_up(self, error: Unavailable, lost_s: float) -> ConnectionLost:
        words = f"{error.message} (given up after {lost_s:.0f} s, try {self._tries})"
        return ConnectionLost(words, code=error.code, details=error.details)
