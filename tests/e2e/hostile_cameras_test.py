"""Twenty lying cameras at once, with more than 250 lies one after the other, beside an honest camera.

The server runs several times. SIGTERM ends each run in time, at a random moment, while the cameras lie and clients
call. Until then the honest camera loses no frame, control calls are answered, and memory stays bounded. A failure
names the broken promise and the present lies. MILLRACE_HOSTILE_MINUTES sets the duration, MILLRACE_HOSTILE_LIES a
selection of lies, and MILLRACE_HOSTILE_SEED their order and the moments.
"""

import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Iterator

from hostile_camera.crowd import Crowd
from hostile_camera.lies import LIES
from liars import Liars, Rounds, config_of
import millrace
from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
from promises import HANGS_AFTER_S, Held, Promises, held

MINUTES = float(os.environ.get("MILLRACE_HOSTILE_MINUTES", "3"))
SEED = int(os.environ.get("MILLRACE_HOSTILE_SEED", "1"))
NAMES = [name for name in os.environ.get("MILLRACE_HOSTILE_LIES", "").split(",") if name] or list(LIES)
AT_ONCE = 20
# How long each is listened to, if there is time for all.
LISTEN_S = 12
# A run's end is in this time from its first lie.
ENDS_AFTER_S = (10, 50)
# A test of this many minutes begins with a run of half of its time: memory stays bounded there, too.
LONG_MINUTES = 10
MAX_MORE_BYTES = 1e9
GOOD_RATE = 10
# Lies for all parts of a session: RTSP, RTP and H.264.
SOME = ("sequence-random", "header-without-end", "line-without-end", "unit-without-end")


def lengths_s() -> Iterator[float]:
    """Of the runs."""
    chance = random.Random(SEED)
    if MINUTES >= LONG_MINUTES:
        yield 30 * MINUTES
    while True:
        yield chance.uniform(*ENDS_AFTER_S)


class HostileCamerasTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.busy = millrace_process.busy()  # The load of the tests themselves earns the server no time.

    def test_cameras_that_lie_harm_no_other(self):
        # What a learner costs is measured: on a busy machine more than this one has. A queue that is
        # never full says that a lost frame is not the machine's fault.
        camera = self.enterContext(RtspCamera("--width", "64", "--height", "64", "--fps", str(GOOD_RATE),
                                              "--gop", "10", "--pattern", "ball"))
        configuration = millrace_process.config(
            streams=[{"name": "good", "source": {"uri": camera.url, "queue": 64}}], budget={"cores": 1000})
        crowds = [self.enterContext(Crowd(NAMES, behave_for=pictures)) for pictures in (0, 25)]
        # Most of the time is for starts, ends, and lies that an end cuts short.
        listen_s = min(LISTEN_S, 0.35 * 60 * MINUTES * AT_ONCE / len(NAMES))
        rounds = Rounds(crowds, NAMES, SEED)
        slowest_s: dict[str, float] = collections.defaultdict(float)
        end = time.monotonic() + 60 * MINUTES
        for number, length_s in enumerate(lengths_s(), start=1):
            run = Run(configuration, rounds, listen_s, self.busy)
            run.lasts(length_s)
            print(f"run {number}: {run}", file=sys.stderr)
            if run.promises.broken:
                self.fail("\n".join(run.promises.broken) + f"\n\nThe end of the server's log:\n{run.log()[-5000:]}")
            for call, took_s in {**run.promises.slowest_s, "SIGTERM": run.stop_s}.items():
                slowest_s[call] = max(slowest_s[call], took_s)
            if time.monotonic() > end and rounds.told >= set(NAMES):
                break
        slowest = ", ".join(f"{call} {took_s:.2f} s" for call, took_s in slowest_s.items())
        print(f"{len(rounds.told)} lies of {len(NAMES)} told in {number} runs; busy {self.busy:.1f} before, "
              f"{millrace_process.busy():.1f} now; slowest: {slowest}",
              file=sys.stderr)

    def test_what_was_learned_is_written_at_the_end_while_they_lie(self):
        self.last_checkpoint_while_they_lie(isolate=True)

    def test_what_was_learned_is_written_at_the_end_while_they_lie_to_the_server_itself(self):
        self.last_checkpoint_while_they_lie(isolate=False)

    def last_checkpoint_while_they_lie(self, isolate: bool) -> None:
        """`isolate`: each camera has a process of its own."""
        crowd = self.enterContext(Crowd(list(SOME)))
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        good = millrace_process.test_stream("good", frames_per_second=200)
        server = self.enterContext(millrace_process.serve(millrace_process.config(
            streams=[good, *(config_of(name, crowd.urls[name], isolate) for name in SOME)],
            checkpoints={"folder": str(folder)}, budget={"cores": 1000})))
        with client.Subscriber(server.grpc, "good") as subscriber, Promises(
                server, lambda: list(SOME), busy_before=self.busy) as promises:
            subscriber.wait_for_predictions(20)
            for name in SOME:  # The server has closed the sessions before the last one.
                millrace_process.wait_for(f"sessions that hear {name}", lambda name=name: crowd.told(name) >= 4)
            millrace_process.wait_for("control calls", lambda: promises.broken or promises.calls["DeleteStream"] >= 3)
            scrape = client.get(server.metrics)[1]
            abandoned = client.sums(scrape)["millrace_ingest_pipelines_abandoned_total"]
            learned = int(client.of_stream(scrape, "millrace_pipeline_updates_total", "good"))
            promises.server_ends()
            millrace_process.stop(server)
        slowest = ", ".join(f"{call} {took_s:.2f} s" for call, took_s in promises.slowest_s.items())
        print(f"isolate {isolate}: slowest answers: {slowest}; ended after {server.stop_s:.2f} s; {abandoned:.0f} "
              f"pipelines abandoned; {learned} updates before", file=sys.stderr)
        self.assertEqual(promises.broken, [], "".join(server.output))
        self.assertEqual(abandoned, 0, "".join(server.output))
        self.assertLess(server.stop_s, millrace_process.stop_limit_s(self.busy))
        written = [int(path.parent.name.removeprefix("checkpoint-")) for path in folder.glob("good/*/manifest.json")]
        self.assertGreaterEqual(max(written, default=-1) + 1, learned, "".join(server.output))


class Run:
    """A server with its liars, from its start to SIGTERM. After lasts() it has its results."""

    def __init__(self, configuration: dict, rounds: Rounds, listen_s: float, busy_before: float):
        self.promises: Promises
        self.before: Held  # Before any camera lies.
        self.code: int | None = None
        self.stop_s = 0.0
        self._configuration = configuration
        self._rounds = rounds
        self._listen_s = listen_s
        self._busy = busy_before
        self._server: millrace_process.Server

    def lasts(self, seconds: float) -> None:
        """Until a promise breaks, if that is sooner."""
        with millrace_process.start(self._configuration) as (process, _):
            self._server = millrace_process.stands(process)
            with client.Subscriber(self._server.grpc, "good", millrace.Parts(outputs=True)) as subscriber:
                subscriber.wait_for_predictions(3 * GOOD_RATE)
                self._suffer(seconds)
                self._judge(subscriber)

    def log(self) -> str:
        return "".join(line for line in self._server.output if line.startswith("2"))  # Each has its time.

    def __str__(self) -> str:
        promises = self.promises
        calls = ", ".join(f"{call} {promises.slowest_s[call]:.2f} s of {count}"
                          for call, count in promises.calls.items())
        return (f"{len(self._rounds.told)} lies told; slowest answers: {calls}; {promises.audits} audits; "
                f"{self.before}, then at most {promises.peak}; ended after {self.stop_s:.2f} s with {self.code}")

    def _suffer(self, seconds: float) -> None:
        server = self._server
        liars = Liars(min(AT_ONCE, len(NAMES)), server, self._rounds, self._listen_s)
        self.before, transitions = held(server.process.pid), self._transitions()
        with Promises(server, liars.lies, self.before.bytes + MAX_MORE_BYTES, self._busy) as self.promises:
            liars.start(self.promises)
            try:
                end = time.monotonic() + seconds
                while time.monotonic() < end and not self.promises.broken and server.process.poll() is None:
                    time.sleep(0.05)
                if server.process.poll() is not None:
                    self.promises.breaks(f"the server ended by itself with {server.process.returncode}")
                elif self._transitions() != transitions:
                    self.promises.breaks("the good camera stalled")
                self._end()
            finally:
                liars.stop()

    def _end(self) -> None:
        """While they all lie."""
        self.promises.server_ends()
        begin = time.monotonic()
        process = self._server.process
        if process.poll() is None:
            process.terminate()
        try:
            self.code = process.wait(HANGS_AFTER_S)
        except subprocess.TimeoutExpired:
            self.promises.breaks(f"SIGTERM did not end it in {HANGS_AFTER_S} s")
            process.kill()
        self.stop_s = time.monotonic() - begin
        if self.code != 0 or self.stop_s > millrace_process.stop_limit_s(self._busy):
            self.promises.breaks(f"SIGTERM ended it after {self.stop_s:.2f} s with {self.code}")

    def _transitions(self) -> float:
        """How often the good camera came into another state."""
        return client.of_stream(client.get(self._server.metrics)[1], "millrace_ingest_source_transitions_total",
                                "good")

    def _judge(self, subscriber: client.Subscriber) -> None:
        """Nothing was lost since the first prediction, which has no predecessor."""
        numbers = [prediction.frame_number for prediction in subscriber.predictions]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            self.promises.breaks("the good camera lost frames")
        if {prediction.epoch for prediction in subscriber.predictions} != {0}:
            self.promises.breaks("the good camera was connected to again")


if __name__ == "__main__":
    unittest.main(verbosity=2)
