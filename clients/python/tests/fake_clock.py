"""Clocks that stand still until somebody waits by them."""

import threading

import millrace


class FakeClock(millrace.Clock):
    """Keeps the waits that it was asked for, in seconds. Each is over at once."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.step = 0.0  # It goes on by so much whenever somebody looks.
        self._now = 1000.0

    def now(self) -> float:
        self._now += self.step
        return self._now

    def wait(self, event: threading.Event, seconds: float) -> None:
        self.waits.append(seconds)
        self._now += seconds


class StoppedClock(millrace.Clock):
    """Time does not pass. A wait lasts until its event is set; `waiting` says that one began."""

    def __init__(self) -> None:
        self.waiting = threading.Event()

    def now(self) -> float:
        return 0.0

    def wait(self, event: threading.Event, seconds: float) -> None:
        self.waiting.set()
        event.wait()
