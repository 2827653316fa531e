"""One run of the real server, with cameras before it and a real Prometheus and a client behind it."""

import contextlib
import dataclasses
import urllib.request
from collections.abc import Iterator

import millrace_process
import prometheus_process
from client import Subscriber
from millrace_process import wait_for
from prometheus_process import Prometheus, one
from rtsp_camera import RtspCamera


@dataclasses.dataclass(frozen=True)
class Stream:
    """A camera and a model for it."""

    frames_per_second: int
    input: tuple[int, int]
    schedule: dict

    def camera(self) -> RtspCamera:
        width, height = self.input
        return RtspCamera(
            "--fps",
            str(self.frames_per_second),
            "--width",
            str(width),
            "--height",
            str(height),
            "--pattern",
            "ball",
        )

    def config(self, name: str, url: str) -> dict:
        return {
            "name": name,
            "source": {"uri": url},
            "model": {"input": list(self.input)},
            "schedule": self.schedule,
        }


# A model that keeps up with its camera, and one that cannot, so that it has frames to drop.
STREAMS = {
    "steady": Stream(25, (64, 64), {"kind": "one_f_one_b_star", "stages": 2}),
    "crowded": Stream(200, (96, 64), {"kind": "sequential", "stages": 1}),
}
PREDICTIONS = 250  # Of each stream: the summary's losses are those of the last 200.


@dataclasses.dataclass(frozen=True)
class LiveRun:
    """What the run left behind. Prometheus still answers; the server has ended."""

    prometheus: Prometheus
    metrics: str  # What /metrics said.
    summary: dict[str, dict]  # The server's, by stream.
    begin: dict[str, float]  # By stream: when it was last scraped before its first frame.
    end: float  # When it was first scraped after its last frame.


@contextlib.contextmanager
def live_run() -> Iterator[LiveRun]:
    """Runs all of them until there is enough to judge."""
    with contextlib.ExitStack() as stack:
        cameras = {name: stack.enter_context(stream.camera()) for name, stream in STREAMS.items()}
        # Nothing comes until the first scrape: what Prometheus sees is the whole run.
        for camera in cameras.values():
            camera.freeze()
        streams = [STREAMS[name].config(name, camera.url) for name, camera in cameras.items()]
        with millrace_process.serve(millrace_process.config(streams)) as server:
            prometheus = stack.enter_context(prometheus_process.scrapes(server.metrics))
            wait_for("a scrape", lambda: prometheus.values("millrace_build_info"))
            for camera in cameras.values():
                camera.thaw()
            _subscribe_until_enough(server, prometheus)
            # What the last scrape saw is all that the summary tells of.
            for camera in cameras.values():
                camera.freeze()
            wait_for("a scrape after the last frame", lambda: _is_still(prometheus))
            with urllib.request.urlopen(server.metrics) as response:
                metrics = response.read().decode()
        summary = {stream["name"]: stream for stream in server.summary["streams"]}
        yield LiveRun(prometheus, metrics, summary, *_begin_and_end(prometheus))


def _subscribe_until_enough(server: millrace_process.Server, prometheus: Prometheus) -> None:
    subscribers = 'millrace_service_subscribers{stream="steady"}'
    predicted = "min(millrace_service_frames_predicted_total)"
    with Subscriber(server.grpc, "steady"):
        wait_for("the subscriber", lambda: one(prometheus.values(subscribers)) == 1)
        wait_for("predictions", lambda: one(prometheus.values(predicted)) >= PREDICTIONS)


def _received(prometheus: Prometheus) -> dict[str, list[tuple[float, float]]]:
    """How many frames of each stream had come, by the time of the scrape."""
    return {
        name: prometheus.samples(f'millrace_ingest_frames_received_total{{stream="{name}"}}')
        for name in STREAMS
    }


def _is_still(prometheus: Prometheus) -> bool:
    """Whether two scrapes have passed since the last one that was not like the one before."""
    return all(
        len({frames for _, frames in samples[-3:]}) == 1
        for samples in _received(prometheus).values()
    )


def _begin_and_end(prometheus: Prometheus) -> tuple[dict[str, float], float]:
    received = _received(prometheus)
    begin = {
        name: max(time for time, frames in samples if frames == 0)
        for name, samples in received.items()
    }
    last = {name: samples[-1][1] for name, samples in received.items()}
    end = max(
        min(time for time, frames in samples if frames == last[name])
        for name, samples in received.items()
    )
    return begin, end
