"""Clocks that advance only by waits."""

import threading

import millrace


class FakeClock(millrace.Clock):
    """Records the requested waits, in seconds. Each wait returns at once."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.step = 0.0  # Each reading advances the clock by this.
        self._now = 1000.0

    def now(self) -> float:
        self._now += self.step
        return self._now

    def wait(self, event: threading.Event, seconds: float) -> None:
        self.waits.append(seconds)
        self._now += seconds


class StoppedClock(millrace.Clock):
    """Time does not pass. A wait lasts until its event is set; `waiting` is set once a wait has
    begun."""

    def __init__(self) -> None:
        self.waiting = threading.Event()

    def now(self) -> float:
        return 0.0

    def wait(self, event: threading.Event, seconds: float) -> None:
        self.waiting.set()
        event.wait()
