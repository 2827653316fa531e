"""Twenty lying cameras at once, with more than 250 lies one after the other, beside an honest camera.

The honest camera loses no frame, control calls are answered, memory stays bounded, and SIGTERM ends the server in
time. A failure names the broken promise and the present lies. MILLRACE_HOSTILE_MINUTES sets the duration,
MILLRACE_HOSTILE_LIES a selection of lies, and MILLRACE_HOSTILE_SEED their order.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from hostile_camera.crowd import Crowd
from hostile_camera.lies import LIES
from liars import Liars, Rounds, config_of
import millrace
from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
from promises import HANGS_AFTER_S, Promises, busy, held

MINUTES = float(os.environ.get("MILLRACE_HOSTILE_MINUTES", "3"))
SEED = int(os.environ.get("MILLRACE_HOSTILE_SEED", "1"))
NAMES = [name for name in os.environ.get("MILLRACE_HOSTILE_LIES", "").split(",") if name] or list(LIES)
AT_ONCE = 20
# How long each is listened to, if there is time for all.
LISTEN_S = 12
MOST_MORE_BYTES = 1e9
GOOD_RATE = 10


class HostileCamerasTest(unittest.TestCase):
    def setUp(self):
        self.camera = self.enterContext(RtspCamera("--width", "64", "--height", "64", "--fps", str(GOOD_RATE),
                                                   "--gop", "10", "--pattern", "ball"))

    def configuration(self) -> dict:
        # What a learner costs is measured: on a busy machine more than this one has. A queue that is
        # never full says that a lost frame is not the machine's fault.
        return millrace_process.config(
            streams=[{"name": "good", "source": {"uri": self.camera.url, "queue": 64}}], budget={"cores": 1000})

    def test_cameras_that_lie_harm_no_other(self):
        crowds = [self.enterContext(Crowd(NAMES, behave_for=pictures)) for pictures in (0, 25)]
        listen_s = min(LISTEN_S, 0.75 * 60 * MINUTES * AT_ONCE / len(NAMES))
        with millrace_process.start(self.configuration()) as (process, _):
            server = millrace_process.stands(process)
            with client.Subscriber(server.grpc, "good", millrace.Parts(outputs=True)) as subscriber:
                subscriber.wait_for_predictions(3 * GOOD_RATE)
                before, transitions = held(process.pid), self.transitions(server)
                promises, told = self.lie(server, crowds, listen_s)
                self.judge_the_good(subscriber, promises)
                if process.poll() is None and self.transitions(server) != transitions:
                    promises.breaks("the good camera stalled")
            code, stop_s = self.end(process, promises)
        calls = ", ".join(f"{call} {promises.slowest_s[call]:.2f} s of {count}"
                          for call, count in promises.calls.items())
        print(f"{len(told)} lies of {len(NAMES)} told; slowest answers: {calls}; {promises.audits} audits; "
              f"{before}, then at most {promises.most}; ended after {stop_s:.2f} s with {code}; busy {busy():.1f}",
              file=sys.stderr)
        if promises.broken:
            log = "".join(line for line in server.output if line.startswith("2"))  # Each has its time.
            self.fail("\n".join(promises.broken) + f"\n\nThe end of the server's log:\n{log[-5000:]}")

    def test_what_was_learned_is_written_at_the_end_while_they_lie(self):
        names = ["sequence-random", "header-without-end", "line-without-end", "unit-without-end"]
        crowd = self.enterContext(Crowd(names))
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        good = millrace_process.test_stream("good", frames_per_second=200)
        server = self.enterContext(millrace_process.serve(millrace_process.config(
            streams=[good, *(config_of(name, crowd.urls[name]) for name in names)],
            checkpoints={"folder": str(folder)}, budget={"cores": 1000})))
        with client.Subscriber(server.grpc, "good") as subscriber:
            subscriber.wait_for_predictions(20)
        for name in names:
            millrace_process.wait_for(f"the lie {name}", lambda name=name: crowd.told(name))
        millrace_process.stop(server)
        self.assertLess(server.stop_s, millrace_process.stop_limit_s())
        self.assertTrue(list(folder.glob("good/*/manifest.json")), "".join(server.output))

    def lie(self, server: millrace_process.Server, crowds: list[Crowd],
            listen_s: float) -> tuple[Promises, set[str]]:
        rounds = Rounds(crowds, NAMES, SEED)
        liars = Liars(min(AT_ONCE, len(NAMES)), server, rounds, listen_s)
        most_bytes = held(server.process.pid).bytes + MOST_MORE_BYTES
        with Promises(server, liars.lies, most_bytes) as promises:
            liars.start(promises)
            end = time.monotonic() + 60 * MINUTES
            while not promises.broken and server.process.poll() is None:
                if time.monotonic() > end and rounds.told >= set(NAMES):
                    break
                time.sleep(0.2)
            liars.stop()
        if server.process.poll() is not None:
            promises.breaks(f"the server ended by itself with {server.process.returncode}")
        return promises, rounds.told

    @staticmethod
    def transitions(server: millrace_process.Server) -> float:
        """How often the good camera came into another state."""
        return client.of_stream(client.get(server.metrics)[1], "millrace_ingest_source_transitions_total", "good")

    @staticmethod
    def judge_the_good(subscriber: client.Subscriber, promises: Promises) -> None:
        """Nothing was lost since the first prediction, which has no predecessor."""
        numbers = [prediction.frame_number for prediction in subscriber.predictions]
        if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
            promises.breaks("the good camera lost frames")
        if {prediction.epoch for prediction in subscriber.predictions} != {0}:
            promises.breaks("the good camera was connected to anew")

    @staticmethod
    def end(process: subprocess.Popen, promises: Promises) -> tuple[int | None, float]:
        """While they all lie."""
        begin = time.monotonic()
        if process.poll() is None:
            process.terminate()
        try:
            code = process.wait(HANGS_AFTER_S)
        except subprocess.TimeoutExpired:
            promises.breaks(f"SIGTERM did not end it in {HANGS_AFTER_S} s")
            return None, time.monotonic() - begin
        stop_s = time.monotonic() - begin
        if code != 0 or stop_s > millrace_process.stop_limit_s():
            promises.breaks(f"SIGTERM ended it after {stop_s:.2f} s with {code}")
        return code, stop_s


if __name__ == "__main__":
    unittest.main(verbosity=2)
