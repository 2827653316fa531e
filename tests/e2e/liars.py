"""Streams with lying cameras. Each camera has a lie for a while, and then another one: for tests of some minutes.

    rounds = Rounds([at_once, later], names, seed=1)  # Of all of the server's runs.
    liars = Liars(20, server, rounds, listen_s=10)
    with Promises(server, liars.lies) as promises:
        liars.start(promises)
"""

import collections
import itertools
import random
import threading
import time
from collections.abc import Iterator

from hostile_camera.crowd import Crowd
import millrace
from millrace_testing import millrace_process
from promises import ANSWERS_WITHIN_S, HANGS_AFTER_S, Promises, ServerEnds

CONNECT_TIMEOUT_S = 3
# The pipeline of a camera that lies is waited for, before its own stream's change is answered.
OWN_WITHIN_S = ANSWERS_WITHIN_S + 2
# A new camera is looked at, because the budget needs its frame rate.
NEW_CAMERA_WITHIN_S = OWN_WITHIN_S + CONNECT_TIMEOUT_S
# One liar in this number leaves its frame rate to the camera, as streams do by default: it is looked at before the
# stream is made.
FOLLOWS = 4


def config_of(name: str, url: str, isolate: bool = True, follows: bool = False) -> dict:
    """A stream that tries its camera often, and learns little from it. `follows`: the server asks the camera for
    its frame rate before it makes the stream."""
    schedule = {"kind": "auto"} if follows else {"kind": "sequential", "stages": 1}
    return {"name": name,
            "source": {"uri": url, "max_fps": 2, "connect_timeout_ms": 1000 * CONNECT_TIMEOUT_S,
                       "stall_timeout_ms": 1000, "backoff_ms": [200, 1000], "isolate": isolate},
            "schedule": schedule}


class Rounds:
    """Every lie in turn, each with a camera that lies at once or behaves for a second, by turns. A lie that the
    server's end cut short comes again next. Thread-safe."""

    def __init__(self, crowds: list[Crowd], names: list[str], seed: int):
        self.told: set[str] = set()
        self.creating = threading.Lock()
        self._lock = threading.Lock()
        self._all = self._each(crowds, random.Random(seed).sample(names, len(names)))
        self._again: collections.deque[tuple[str, Crowd]] = collections.deque()
        self._unheard_s: collections.Counter[str] = collections.Counter()

    @staticmethod
    def _each(crowds: list[Crowd], order: list[str]) -> Iterator[tuple[str, Crowd]]:
        for turn in itertools.count():
            for number, name in enumerate(order):
                yield name, crowds[(turn + number) % len(crowds)]

    def next(self) -> tuple[str, Crowd]:
        with self._lock:
            return self._again.popleft() if self._again else next(self._all)

    def again(self, lie: str, crowd: Crowd) -> None:
        with self._lock:
            self._again.append((lie, crowd))

    def heard(self, lie: str) -> None:
        with self._lock:
            self._unheard_s[lie] = 0

    def unheard_for(self, lie: str, more_s: float) -> float:
        """The seconds that the lie has waited for a session since the last one, in all of the server's runs."""
        with self._lock:
            self._unheard_s[lie] += more_s
            return self._unheard_s[lie]


class Liar:
    """A stream whose camera lies, and then another, and another. A thread."""

    def __init__(self, number: int, server: millrace_process.Server, rounds: Rounds, listen_s: float):
        self.lie = ""
        self._name = f"liar-{number}"
        self._number = number
        self._follows = number % FOLLOWS == 0
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
                if not self._tell(api, lie, crowd, anew=turn % 4 == 0):
                    self._rounds.again(lie, crowd)

    def _tell(self, api: millrace.Client, lie: str, crowd: Crowd, anew: bool) -> bool:
        """Whether the lie was heard, and listened to for as long as it should be."""
        before = crowd.told(lie)
        try:
            self._turn_to(api, config_of(self._name, crowd.urls[lie], follows=self._follows), lie, anew)
        except ServerEnds:
            self._stopping.wait()
            return False
        return self._is_heard(lie, crowd, before) and self._is_listened_to(lie)

    def _turn_to(self, api: millrace.Client, config: dict, lie: str, anew: bool) -> None:
        """By a change of its source, or by another stream in its place."""
        old = self.lie or "none"
        if self._exists and not anew:
            with self._answers("UpdateStream", old):
                api.update_stream(self._name, config, timeout=HANGS_AFTER_S)
            self.lie = lie
            return
        if self._exists:
            with self._answers("DeleteStream", old):
                api.delete_stream(self._name, timeout=HANGS_AFTER_S)
        self.lie = lie
        # One at a time: what a stream costs is measured, one stream after the other.
        with self._rounds.creating, self._answers("CreateStream", lie):
            api.create_stream(config, timeout=HANGS_AFTER_S)
        self._exists = True

    def _answers(self, call: str, lie: str):
        which = "of its own, with auto" if self._follows else "of its own"
        within_s = OWN_WITHIN_S if call == "DeleteStream" else NEW_CAMERA_WITHIN_S
        return self._promises.answers(f"{call} {which}", lie, within_s)

    def _is_heard(self, lie: str, crowd: Crowd, before: int) -> bool:
        """Waits until a session has come to hear it."""
        begin = time.monotonic()
        patience_s = millrace_process.PATIENCE_S - self._rounds.unheard_for(lie, 0)
        while crowd.told(lie) == before and not self._stopping.wait(0.05) and not self._promises.broken:
            if time.monotonic() - begin > patience_s:
                self._promises.breaks(f"no session came to hear {lie} in {millrace_process.PATIENCE_S:.0f} s")
        if crowd.told(lie) > before:
            self._rounds.heard(lie)
            return True
        self._rounds.unheard_for(lie, time.monotonic() - begin)
        return False

    def _is_listened_to(self, lie: str) -> bool:
        if self._stopping.wait(self._listen_s):
            return False
        self._rounds.told.add(lie)
        return True


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
