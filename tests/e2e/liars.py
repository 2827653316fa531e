"""Streams with lying cameras. Each camera has a lie for a while, and then another one: for tests of some minutes.

    with Crowd() as at_once, Crowd(behave_for=25) as later, Promises(server, liars.lies) as promises:
        liars.start(promises)
"""

import itertools
import random
import threading
import time
from collections.abc import Iterator

from hostile_camera.crowd import Crowd
import millrace
from millrace_testing import millrace_process
from promises import ANSWERS_WITHIN_S, HANGS_AFTER_S, Promises

# The pipeline of a camera that lies is waited for, before its own stream's change is answered.
TEARDOWN_S = 2


def config_of(name: str, url: str) -> dict:
    """A stream that tries its camera often, and learns little from it."""
    return {"name": name,
            "source": {"uri": url, "max_fps": 2, "connect_timeout_ms": 3000, "stall_timeout_ms": 1000,
                       "backoff_ms": [200, 1000]},
            "schedule": {"kind": "sequential", "stages": 1}}


class Rounds:
    """Every lie in turn, each with a camera that lies at once or behaves for a second, by turns.
    Thread-safe."""

    def __init__(self, crowds: list[Crowd], names: list[str], seed: int):
        self._lock = threading.Lock()
        self._next = self._all(crowds, random.Random(seed).sample(names, len(names)))
        self.told: set[str] = set()
        self.creating = threading.Lock()

    @staticmethod
    def _all(crowds: list[Crowd], order: list[str]) -> Iterator[tuple[str, Crowd]]:
        for turn in itertools.count():
            for number, name in enumerate(order):
                yield name, crowds[(turn + number) % len(crowds)]

    def next(self) -> tuple[str, Crowd]:
        with self._lock:
            return next(self._next)


class Liar:
    """A stream whose camera lies, and then another, and another. A thread."""

    def __init__(self, number: int, server: millrace_process.Server, rounds: Rounds, listen_s: float):
        self.lie = ""
        self._name = f"liar-{number}"
        self._number = number
        self._server = server
        self._rounds = rounds
        self._listen_s = listen_s
        self._exists = False
        self._thread = threading.Thread(target=self._run)
        self._stopping = threading.Event()
        self._promises: Promises | None = None

    def start(self, promises: Promises) -> None:
        self._promises = promises
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        with millrace.Client(self._server.grpc, timeout=HANGS_AFTER_S) as api:
            for turn in itertools.count(self._number):
                if self._stopping.is_set() or self._promises.broken:
                    return
                lie, crowd = self._rounds.next()
                before = crowd.told(lie)
                self._turn_to(api, config_of(self._name, crowd.urls[lie]), lie, anew=turn % 2 == 0)
                self._listen(lie, crowd, before)

    def _turn_to(self, api: millrace.Client, config: dict, lie: str, anew: bool) -> None:
        """By a change of its source, or by another stream in its place."""
        old, own_s = self.lie or "none", ANSWERS_WITHIN_S + TEARDOWN_S
        if self._exists and not anew:
            with self._promises.answers("UpdateStream of its own", old, own_s):
                api.update_stream(self._name, config, timeout=HANGS_AFTER_S)
            self.lie = lie
            return
        if self._exists:
            with self._promises.answers("DeleteStream of its own", old, own_s):
                api.delete_stream(self._name, timeout=HANGS_AFTER_S)
        self.lie = lie
        # One at a time: what a stream costs is measured, one stream after the other.
        with self._rounds.creating, self._promises.answers("CreateStream of its own", lie, own_s):
            api.create_stream(config, timeout=HANGS_AFTER_S)
        self._exists = True

    def _listen(self, lie: str, crowd: Crowd, before: int) -> None:
        begin = time.monotonic()
        while crowd.told(lie) == before and not self._stopping.wait(0.05) and not self._promises.broken:
            if time.monotonic() - begin > millrace_process.PATIENCE_S:
                self._promises.breaks(f"nobody came to hear {lie} in {millrace_process.PATIENCE_S:.0f} s")
        self._stopping.wait(self._listen_s)
        if crowd.told(lie) > before:
            self._rounds.told.add(lie)


class Liars:
    """This number of cameras at once."""

    def __init__(self, count: int, server: millrace_process.Server, rounds: Rounds, listen_s: float):
        self._liars = [Liar(number, server, rounds, listen_s) for number in range(count)]

    def start(self, promises: Promises) -> None:
        for liar in self._liars:
            liar.start(promises)

    def stop(self) -> None:
        """They stay as they are then."""
        for liar in self._liars:
            liar.stop()
        for liar in self._liars:
            liar.join()

    def lies(self) -> list[str]:
        """That are told now."""
        return sorted({liar.lie for liar in self._liars if liar.lie})
