"""A camera's rate is a promise: another rate of the camera, a core that is taken away, and another camera change the
plan or the learning. Frames are dropped while that happens, and none afterwards."""

import contextlib
import functools
import os
import pathlib
import unittest

import millrace
from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera

PICTURE = ["--width", "320", "--height", "240", "--gop", "10", "--pattern", "ball"]
# Predictions without a drop, after which a rate counts as kept.
CLEAN = 100
# Steps of the learning take seconds each: one frame in 2, in 4 ...
STEPS_S = 60
# The network at this size takes tens of milliseconds to learn from a frame.
INPUT = [192, 144]


def cores() -> list[int]:
    return sorted(os.sched_getaffinity(0))


def confine(process: int, to: list[int]) -> None:
    """Lets all threads of a process and its children run on those cores only."""
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            if parent == process:
                confine(int(status.parent.name), to)
    for thread in pathlib.Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):
            os.sched_setaffinity(int(thread.name), to)


def cpu_seconds(process: int) -> float:
    """What all its threads used so far."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class RateTest(unittest.TestCase):
    def serve(self, *streams: dict, **sections) -> None:
        """Streams that leave their schedule to the server."""
        configuration = millrace_process.config(
            streams=list(streams), model={"input": INPUT}, schedule={"threads_per_stage": 1}, **sections)
        self.server = self.enterContext(millrace_process.serve(configuration))
        self.client = self.enterContext(millrace.Client(self.server.grpc))

    def stream(self, name: str) -> millrace.Stream:
        return self.client.stream(name)

    def schedule(self, name: str):
        return self.stream(name).message.schedule

    def planned_rate(self, name: str) -> float:
        return self.schedule(name).rate_plan.frames_per_second

    def drops(self, name: str) -> int:
        """Frames for which there was no time."""
        return self.stream(name).frames.dropped.get(millrace.DropReason.QUEUE_FULL, 0)

    def await_kept(self, *names: str) -> None:
        """Waits until no stream drops a frame for a while."""
        for name in names:
            self.begin(name)
        millrace_process.wait_for(
            f"{CLEAN} predictions of {', '.join(names)} without a drop",
            lambda: all([self.is_clean(name) for name in names]), patience_s=2 * millrace_process.PATIENCE_S)

    def begin(self, name: str) -> None:
        frames = self.stream(name).frames
        self.since = getattr(self, "since", {})
        self.since[name] = (frames.predicted, self.drops(name))

    def is_clean(self, name: str) -> bool:
        predicted, drops = self.since[name]
        if self.drops(name) != drops:
            self.begin(name)
            return False
        return self.stream(name).frames.predicted - predicted >= CLEAN

    @functools.cached_property
    def seconds_of_learning(self) -> float:
        """The time of one core to learn from a frame, all threads together."""
        self.serve(millrace_process.test_stream("probe", frames_per_second=8))
        first = self.await_predicted("probe", 1), cpu_seconds(self.server.process.pid)
        last = self.await_predicted("probe", first[0] + CLEAN), cpu_seconds(self.server.process.pid)
        self.doCleanups()
        return (last[1] - first[1]) / (last[0] - first[0])

    def await_predicted(self, name: str, frames: int) -> int:
        return millrace_process.wait_for(f"{frames} predictions of {name}", lambda: (
            predicted if (predicted := self.stream(name).frames.predicted) >= frames else 0))

    def rate_for(self, load: float) -> int:
        """The frames a second that take this number of cores to learn from."""
        return max(1, round(load / self.seconds_of_learning))

    def test_a_camera_that_doubles_its_rate(self):
        slow = self.rate_for(load=0.6)
        with RtspCamera(*PICTURE, "--fps", str(slow)) as camera:
            self.serve({"name": "gate", "source": {"uri": camera.url}})
            self.await_kept("gate")
            self.assertAlmostEqual(self.planned_rate("gate"), slow, delta=0.1 * slow + 0.5)
            for rate in (2 * slow, slow):
                before = self.drops("gate")
                camera.kill()
                camera.come_back(*PICTURE, "--fps", str(rate))
                millrace_process.wait_for("a plan for the new rate", lambda rate=rate: abs(
                    self.planned_rate("gate") - rate) <= 0.1 * rate + 0.5)
                cause = self.schedule("gate").rate_plan.replan_cause
                self.assertRegex(cause, r"^the camera sends [\d.]+ frames a second instead of [\d.]+$")
                self.await_kept("gate")
                self.assertLess(self.drops("gate") - before, STEPS_S * rate)
            millrace_process.wait_for("all the learning at the slow rate",
                                      lambda: self.schedule("gate").update_every == 1)

    @unittest.skipIf(len(cores()) < 2, "there is only one core")
    def test_a_core_is_taken_away_and_given_back(self):
        two = cores()[:2]
        self.serve(millrace_process.test_stream("gate", frames_per_second=self.rate_for(load=1.3)))
        confine(self.server.process.pid, two)
        self.await_kept("gate")
        confine(self.server.process.pid, two[:1])
        millrace_process.wait_for("less learning", lambda: self.schedule("gate").update_every != 1)
        self.await_kept("gate")
        confine(self.server.process.pid, two)
        millrace_process.wait_for("all the learning again", lambda: self.schedule("gate").update_every == 1)
        self.await_kept("gate")

    @unittest.skipIf(len(cores()) < 2, "there is only one core")
    def test_a_stream_that_comes_and_goes(self):
        """A prediction takes over half of the time of learning. So all three take 1.15 times two cores to learn, and
        three quarters of them where the heavy one only predicts."""
        light, heavy = self.rate_for(load=0.25), self.rate_for(load=1.8)
        first = [millrace_process.test_stream(name, frames_per_second=light) for name in ("gate", "door")]
        self.serve(*first, budget={"cores": 100})
        confine(self.server.process.pid, cores()[:2])
        self.await_kept("gate", "door")
        self.client.create_stream(millrace_process.test_stream("yard", frames_per_second=heavy))
        millrace_process.wait_for("less learning", lambda: self.schedule("yard").update_every != 1)
        self.await_kept("gate", "door", "yard")
        self.client.delete_stream("yard")
        for name in ("gate", "door"):
            millrace_process.wait_for("all the learning again",
                                      lambda name=name: self.schedule(name).update_every == 1)
        self.await_kept("gate", "door")


if __name__ == "__main__":
    unittest.main(verbosity=2)
