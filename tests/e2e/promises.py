"""A server's promises at every moment, whatever its cameras do: answers, correct counters, bounded memory.

    before = millrace_process.busy()  # The machine's load before the test's own.
    with Promises(server, suspects=lambda: ["sequence-random"], busy_before=before) as promises:  # Threads look.
        ...
        promises.server_ends()  # From now on calls may be refused.
    promises.broken  # The broken promise, its time, and the suspects.
"""

import collections
import contextlib
import dataclasses
import http.client
import math
import os
import pathlib
import re
import threading
import time
from collections.abc import Callable, Iterator

import grpc
import millrace
from millrace_testing import client, millrace_process
from process_tree import descendants

# An answer to CreateStream, UpdateStream, DeleteStream, GetStream and ListStreams, on an idle machine.
ANSWERS_WITHIN_S = 2
# A call that has no answer by then is taken to hang.
HANGS_AFTER_S = 60
# The answers of a server that ends.
_REFUSALS = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
_PAGE = os.sysconf("SC_PAGE_SIZE")


class ServerEnds(Exception):
    """A call was refused because the server ends, as it may be."""


@dataclasses.dataclass(frozen=True)
class Held:
    """The resources of a server and of its cameras' processes."""

    bytes: int
    threads: int
    files: int

    def __add__(self, other: "Held") -> "Held":
        return Held(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))

    def __str__(self) -> str:
        return f"{self.bytes / 1e6:.0f} MB, {self.threads} threads, {self.files} files"


def held(pid: int) -> Held:
    """Memory that processes share is counted once."""
    total = _held_by(pid, _resident_bytes(pid))
    for process in descendants(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # It may end meanwhile.
            total += _held_by(process, _share_of_bytes(process))
    return total


def _held_by(pid: int, bytes_: int) -> Held:
    process = pathlib.Path(f"/proc/{pid}")
    return Held(bytes=bytes_, threads=len(os.listdir(process / "task")), files=len(os.listdir(process / "fd")))


def _resident_bytes(pid: int) -> int:
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def _share_of_bytes(pid: int) -> int:
    """Of what is in no file: a page that n processes have counts as an nth of one."""
    rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * sum(map(int, re.findall(r"^Pss_(?:Anon|Shmem): +(\d+) kB", rollup, re.MULTILINE)))


class Promises:
    """A context manager. `suspects()` names the possible causes of a promise that breaks now. Limits of time are
    those of a machine as busy as `busy_before`; None: as it is at the moment of the call."""

    def __init__(self, server: millrace_process.Server, suspects: Callable[[], list[str]] = list,
                 max_bytes: float = math.inf, busy_before: float | None = None):
        self.broken: list[str] = []
        self.slowest_s: dict[str, float] = collections.defaultdict(float)
        self.calls: dict[str, int] = collections.defaultdict(int)
        self.audits = 0
        self.peak = held(server.process.pid)
        self._more_s = self._more_before_s = 0.0
        self._more_ended = 0.0  # When more_s was set to less.
        self._server = server
        self._suspects = suspects
        self._max_bytes = max_bytes
        self._busy_before = busy_before
        self._server_ends = False
        self._too_large = False
        self._api = millrace.Client(server.grpc, timeout=HANGS_AFTER_S)
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._repeat, args=(what,))
                         for what in (self._change, self._ask, self._audit)]

    def __enter__(self) -> "Promises":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._api.close()

    @property
    def more_s(self) -> float:
        """Answers may take longer by this time, because the server is kept from running. It also holds for a call
        that ends after it is set to less, if the call began before."""
        return self._more_s

    @more_s.setter
    def more_s(self, seconds: float) -> None:
        if seconds < self._more_s:
            self._more_before_s, self._more_ended = self._more_s, time.monotonic()
        self._more_s = seconds

    def server_ends(self) -> None:
        """Call it before the signal. The threads go on until a call is refused."""
        self._server_ends = True

    def breaks(self, what: str) -> None:
        self.broken.append(f"{what}; there were: {', '.join(self._suspects()) or 'none'}")

    @contextlib.contextmanager
    def answers(self, call: str, who: str = "", within_s: float = ANSWERS_WITHIN_S) -> Iterator[None]:
        """The block is one call, which must be answered in time. An error is no answer. Raises ServerEnds if the
        call is refused after server_ends()."""
        begin = time.monotonic()
        problem = ""
        try:
            yield
        except millrace.MillraceError as error:
            if self._may_fail_by(error):
                raise ServerEnds from error
            problem = f", and then {error}"
        took_s = time.monotonic() - begin
        factor = millrace_process.busy() if self._busy_before is None else self._busy_before
        more_s = max(self._more_s, self._more_before_s if begin < self._more_ended else 0)
        limit_s = within_s * factor + more_s
        self.calls[call] += 1
        self.slowest_s[call] = max(self.slowest_s[call], took_s)
        if problem or took_s > limit_s:
            self.breaks(f"{call} of {who or 'another stream'} took {took_s:.2f} s{problem}, "
                        f"and may take {limit_s:.2f} s")

    def _repeat(self, what: Callable[[], None]) -> None:
        while not self._stopping.wait(0.1):
            try:
                what()
            except Exception as error:  # Whatever it is, the test must hear of it.
                if not self._stopping.is_set() and not self._may_fail_by(error):
                    self.breaks(f"{what.__name__}: {error!r}")
                return

    def _may_fail_by(self, error: Exception) -> bool:
        """Whether a call may end so: only of a server that ends."""
        if not self._server_ends:
            return False
        if isinstance(error, millrace.MillraceError):
            return error.code in _REFUSALS
        return isinstance(error, (ServerEnds, OSError, http.client.HTTPException))

    def _change(self) -> None:
        door = millrace_process.test_stream("door", frames_per_second=1)
        with self.answers("CreateStream"):
            self._api.create_stream(door, timeout=HANGS_AFTER_S)
        with self.answers("UpdateStream"):
            self._api.update_stream("door", millrace_process.test_stream("door", frames_per_second=2),
                                    timeout=HANGS_AFTER_S)
        with self.answers("DeleteStream"):
            self._api.delete_stream("door", timeout=HANGS_AFTER_S)

    def _ask(self) -> None:
        names = None
        with self.answers("ListStreams"):
            names = [stream.name for stream in self._api.streams()]
        if names is None:
            return  # It broke a promise.
        with self.answers("GetStream"):
            self._api.stream(names[0])
        now = held(self._server.process.pid)
        if now.bytes > self._max_bytes and not self._too_large:
            self._too_large = True  # Once is enough.
            self.breaks(f"it has {now.bytes / 1e6:.0f} MB of memory, and may have {self._max_bytes / 1e6:.0f}")
        self.peak = Held(*(max(pair) for pair in zip(dataclasses.astuple(now), dataclasses.astuple(self.peak))))

    def _audit(self) -> None:
        scrape = client.get(self._server.metrics)[1]
        all_books = [client.books_of_scrape(scrape)]
        all_books += [client.books_of_stream(stream.name, stream.message.frames) for stream in self._api.streams()]
        for books in all_books:
            self.audits += 1
            if not books.balance():
                self.breaks(f"the books do not balance: {books}")
        if client.sums(scrape)["millrace_service_frames_unaccounted"] != 0:
            self.breaks("frames are unaccounted for")
