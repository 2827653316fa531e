"""Causes the faults of years in some minutes: tools/chaos.

    chaos.py MINUTES [--seed N] [--log FOLDER]

A server runs several times. In each run, cameras lie and faults come in a random order. At the end it is killed, or
told to end. promises.py checks its promises during the whole run. After each fault it must recover by itself. A run
with a broken promise is the last one. Prints a table, and ends with 1 if a promise broke.

Half of the runs have a clock that the test sets, and therefore glibc's allocator (wall_clock.py). The other half have
the program's own allocator, and leave the clock alone.
"""

import argparse
import collections
import contextlib
import dataclasses
import http.client
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest

from chaos_faults import FAULTS, MEMORY_GB, Life
from chaos_promises import ChaosPromises
from debian_pytorch import in_pytorch
import grpc
from hostile_camera.crowd import Crowd
from hostile_camera.lies import LIES
from liars import Liars, Rounds
import millrace
from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
from promises import HANGS_AFTER_S, held
import small_disk
from wall_clock import Clock

AT_ONCE = 8
LISTEN_S = 5
DISK_BYTES = 8 << 20
MAX_MORE_BYTES = 1e9
# Includes the threads of cameras' processes, some 18 each; an old and a new process may exist at the same time.
MAX_MORE_THREADS = 300
MAX_MORE_FILES = 150
# What a fault leaves behind is over by then, on an idle machine.
RECOVERS_WITHIN_S = 15
# So small that checkpoints come every second or so. It begins with no motion.
NETWORK = """
import torch
network = torch.nn.Sequential(torch.nn.Conv2d(6, 4, 3, padding=1), torch.nn.Conv2d(4, 2, 3, padding=1))
torch.nn.init.zeros_(network[1].weight)
torch.nn.init.zeros_(network[1].bias)
torch.jit.script(network).save('{path}')"""


@dataclasses.dataclass
class Row:
    """Of the table: the worst of all times."""

    times: int = 0
    back_s: float = 0
    slowest_s: float = 0
    megabytes: float = 0
    threads: int = 0
    files: int = 0
    broken: int = 0

    def add(self, **values: float) -> None:
        self.times += 1
        for name, value in values.items():
            setattr(self, name, max(getattr(self, name), value))


class Table:
    """Also prints each event when it happens."""

    def __init__(self):
        self._rows: dict[str, Row] = collections.defaultdict(Row)

    def add(self, what: str, broken: int = 0, **values: float) -> None:
        row = self._rows[what]
        row.add(**values)
        row.broken += broken
        print(f"  {what}: " + ", ".join(f"{name} {value:.4g}" for name, value in values.items()), flush=True)

    def __str__(self) -> str:
        lines = ["| what | times | at work again after, s | slowest answer, s | memory, MB | threads | files "
                 "| broken promises |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
        lines += [f"| {what} | {row.times} | {row.back_s:.1f} | {row.slowest_s:.2f} | {row.megabytes:.0f} "
                  f"| {row.threads} | {row.files} | {row.broken} |" for what, row in self._rows.items()]
        return "\n".join(lines)


class Chaos:
    """The server's lives, one after the other."""

    def __init__(self, folder: pathlib.Path, disk: pathlib.Path | None, logs: pathlib.Path, seed: int):
        self.broken: list[str] = []
        self.table = Table()
        self._random = random.Random(seed)
        self._logs = logs
        self._folder = folder
        self._network = folder / "small.pt"
        in_pytorch(NETWORK.format(path=self._network))
        self._disk = disk
        self._clock = Clock(str(folder))
        self._lives = 0

    def _configuration(self, camera: RtspCamera) -> dict:
        street = millrace_process.test_stream(
            "street", frames_per_second=100, model={"input": [64, 64], "network": str(self._network)},
            checkpoints={"folder": str(self._disk or self._folder), "every": 100})
        good = {"name": "good", "source": {"uri": camera.url, "queue": 64}}
        return millrace_process.config(streams=[street, good], budget={"cores": 1000, "memory_gb": MEMORY_GB})

    def _complete(self) -> int:
        """Frames behind the newest complete checkpoint."""
        found = (self._disk or self._folder).glob("street/checkpoint-*/manifest.json")
        return 1 + max((int(path.parent.name.removeprefix("checkpoint-")) for path in found), default=-1)

    def run(self, minutes: float, crowds: list[Crowd], camera: RtspCamera) -> None:
        rounds = Rounds(crowds, list(LIES), self._random.randrange(1 << 30))
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end and not self.broken:
            self._live(end, rounds, camera)

    def _live(self, end: float, rounds: Rounds, camera: RtspCamera) -> None:
        """One life: all faults once, as far as there is time."""
        complete = self._complete()
        # Each with both ends: every other life is killed.
        clock = self._clock if self._lives % 4 in (1, 2) else None
        begin = time.monotonic()
        with clock or contextlib.nullcontext(), millrace_process.start(self._configuration(camera)) as (process, _):
            server = millrace_process.stands(process)
            self.table.add("a start", back_s=time.monotonic() - begin)
            if client.resumed_after("".join(server.output)) < complete:
                self._break(["it does not go on from its newest checkpoint"], server)
            self._suffer(server, end, rounds, camera, clock)
            self._end(server)

    def _suffer(self, server: millrace_process.Server, end: float, rounds: Rounds, camera: RtspCamera,
                clock: Clock | None) -> None:
        before = held(server.process.pid)
        liars = Liars(AT_ONCE, server, rounds, LISTEN_S)
        with millrace.Client(server.grpc, timeout=HANGS_AFTER_S) as api, ChaosPromises(
                server, liars.lies, before.bytes + MAX_MORE_BYTES) as promises:
            life = Life(server, api, promises, camera, clock, self._disk)
            liars.start(promises)
            try:
                for what in self._random.sample(list(FAULTS), len(FAULTS)):
                    if time.monotonic() < end and not promises.broken and server.process.poll() is None:
                        self._do(what, life)
            finally:
                liars.stop()
            if server.process.poll() is not None:
                promises.breaks(f"the server ended by itself with {server.process.returncode}")
            elif promises.peak.threads > before.threads + MAX_MORE_THREADS:
                promises.breaks(f"it has {promises.peak.threads} threads, {before.threads} at first")
            broken = list(promises.broken)
            peak = promises.peak
        allocator = "its own allocator" if clock is None else "glibc's allocator, and a clock that is set"
        self.table.add(f"a life with {allocator}", megabytes=peak.bytes / 1e6, threads=peak.threads, files=peak.files)
        self._break(broken, server)

    def _do(self, what: str, life: Life) -> None:
        promises = life.promises
        promises.slowest_s.clear()
        before = len(promises.broken)
        began = held(life.server.process.pid)
        try:
            FAULTS[what](life)
            back_s = self._back_at_work(life)
        except unittest.SkipTest:
            return
        except (AssertionError, OSError, KeyError, http.client.HTTPException, grpc.RpcError,
                millrace.MillraceError) as error:
            promises.breaks(f"{what}: {error}")
            back_s = float("nan")
        promises.more_s = 0
        now = held(life.server.process.pid) if life.server.process.poll() is None else began
        if now.files > began.files + MAX_MORE_FILES:
            promises.breaks(f"{what} leaves {now.files - began.files} files open")
        self.table.add(what, broken=len(promises.broken) - before, back_s=back_s,
                       slowest_s=max(promises.slowest_s.values(), default=0),
                       megabytes=now.bytes / 1e6, threads=now.threads, files=now.files)

    @staticmethod
    def _back_at_work(life: Life) -> float:
        """Waits until both true streams predict, and the server says that it is well. Returns how long."""
        begin = time.monotonic()
        life.wait_until_both_predict()
        millrace_process.wait_for("a new client to be served", life.serves_a_new_client)
        millrace_process.wait_for("/healthz to say so", lambda: life.healthz() == 200)
        back_s = time.monotonic() - begin
        if back_s > RECOVERS_WITHIN_S * millrace_process.busy():
            life.promises.breaks(f"it is at work again after {back_s:.1f} s")
        return back_s

    def _end(self, server: millrace_process.Server) -> None:
        """By turns it is killed, and told to end, while cameras lie."""
        self._lives += 1
        if server.process.poll() is not None:
            return
        begin = time.monotonic()
        if self._lives % 2 == 1:
            server.process.kill()
            server.process.wait()
            self.table.add("SIGKILL")
            return
        server.process.terminate()
        try:
            code = server.process.wait(HANGS_AFTER_S)
        except subprocess.TimeoutExpired:
            code = None
        took_s = time.monotonic() - begin
        bad = code != 0 or took_s > millrace_process.stop_limit_s()
        self.table.add("SIGTERM", broken=int(bad), slowest_s=took_s)
        if bad:
            self._break([f"SIGTERM ended it after {took_s:.1f} s with {code}"], server)

    def _break(self, promises: list[str], server: millrace_process.Server) -> None:
        if not promises:
            return
        self.broken += promises
        log = self._logs / f"life-{self._lives}.log"
        log.write_text("".join(server.output))
        print("".join(f"BROKEN: {promise}\n" for promise in promises) + f"  the server's log: {log}", flush=True)


def small_disk_in(folder: pathlib.Path, stack: contextlib.ExitStack) -> pathlib.Path | None:
    disk = folder / "disk"
    disk.mkdir()
    try:
        stack.enter_context(small_disk.mounted(disk, DISK_BYTES))
    except unittest.SkipTest as error:
        print(f"no disk will be full: {error}")
        return None
    return disk


def main() -> int:
    parser = argparse.ArgumentParser(prog="chaos", description="Does to a server what befalls one in years.")
    parser.add_argument("minutes", type=float, help="for how long; a life of it takes one or two")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the order of what is done")
    parser.add_argument("--log", type=pathlib.Path, default=millrace_process.ROOT / "build/chaos",
                        help="where the logs go of lives in which something broke")
    options = parser.parse_args()
    options.log.mkdir(parents=True, exist_ok=True)
    print(f"chaos for {options.minutes:g} minutes, seed {options.seed}", flush=True)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace.")))
        chaos = Chaos(folder, small_disk_in(folder, stack), options.log, options.seed)
        crowds = [stack.enter_context(Crowd(behave_for=pictures)) for pictures in (0, 25)]
        camera = stack.enter_context(RtspCamera("--width", "64", "--height", "64", "--fps", "10", "--gop", "10",
                                                "--pattern", "ball"))
        chaos.run(options.minutes, crowds, camera)
    print(f"\n{chaos.table}\n\nbusy {millrace_process.busy():.1f}; {len(chaos.broken)} promises broken")
    return 1 if chaos.broken else 0


if __name__ == "__main__":
    sys.exit(main())
