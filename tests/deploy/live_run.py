"""A run of the real server with cameras, a real Prometheus and a client."""

import contextlib
import dataclasses
import pathlib
import tempfile
import urllib.request
from collections.abc import Iterator

import grpc
import millrace
from millrace.v1 import prediction_service_pb2, prediction_service_pb2_grpc

from millrace_testing import client, millrace_process
from millrace_testing.millrace_process import wait_for
from millrace_testing.rtsp_camera import RtspCamera
from prometheus_process import Prometheus
import prometheus_process


@dataclasses.dataclass(frozen=True)
class Stream:
    """A camera and a model for it."""

    frames_per_second: int
    input: tuple[int, int]
    schedule: dict
    max_fps: int | None = None

    def pictures(self, times: int = 1) -> list[str]:
        """The camera's options: its pictures are `times` times as large as the model's."""
        width, height = self.input
        return ["--fps", str(self.frames_per_second), "--width", str(times * width),
                "--height", str(times * height), "--pattern", "ball"]  # fmt: skip

    def config(self, name: str, url: str) -> dict:
        source = {"uri": url} | ({} if self.max_fps is None else {"max_fps": self.max_fps})
        return {
            "name": name,
            "source": source,
            "model": {"input": list(self.input)},
            "schedule": self.schedule,
        }


# A model that keeps up with its camera, and one that cannot, so that it has frames to drop.
STREAMS = {
    "steady": Stream(25, (64, 64), {"kind": "one_f_one_b_star", "stages": 2}),
    "crowded": Stream(200, (192, 128), {"kind": "sequential", "stages": 1}),
}
# A stream with all events of a healthy server. The tests do not check its values.
RESTLESS = Stream(20, (64, 64), {"kind": "sequential", "stages": 1}, max_fps=10)
PREDICTIONS = 250  # Of each stream: the summary's losses are those of the last 200.
CHECKPOINT_EVERY = 100  # Frames.
SEVERAL = 5  # Predictions, in whose time a slow subscriber reads one.
# As millrace.v1 numbers them.
STREAMING = 2
LEARNING, FROZEN = 1, 4
DROPS = 4


class Disk:
    """A folder that can be replaced by a file while a server of any user writes into it. At any moment its path leads to the
    folder or to the file."""

    def __init__(self, place: pathlib.Path):
        self.path = place / "checkpoints"
        self._folder = place / "folder"
        self._file = place / "file"
        self._folder.mkdir()
        self._file.touch()
        self.give_back()

    def take_away(self) -> None:
        self._lead_to(self._file)

    def give_back(self) -> None:
        self._lead_to(self._folder)

    def _lead_to(self, there: pathlib.Path) -> None:
        link = self.path.with_name("next")
        link.symlink_to(there)
        link.replace(self.path)


@dataclasses.dataclass(frozen=True)
class LiveRun:
    """The results of the run. Prometheus still answers; the server has ended."""

    prometheus: Prometheus
    metrics: str  # What /metrics said.
    summary: dict[str, dict]  # The server's, by stream.
    begin: dict[str, float]  # By stream: when it was last scraped before its first frame.
    end: float  # When it was first scraped after its last frame.


@contextlib.contextmanager
def live_run() -> Iterator[LiveRun]:
    """Runs all of them until there is enough to judge."""
    with contextlib.ExitStack() as stack:
        described = {**STREAMS, "restless": RESTLESS}
        cameras = {name: stack.enter_context(RtspCamera(*stream.pictures()))
                   for name, stream in described.items()}  # fmt: skip
        # Nothing comes until the first scrape: what Prometheus sees is the whole run.
        for camera in cameras.values():
            camera.freeze()
        streams = [described[name].config(name, camera.url) for name, camera in cameras.items()]
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace."))
        disk = Disk(pathlib.Path(folder))
        checkpoints = {"folder": str(disk.path), "every": CHECKPOINT_EVERY}
        configuration = millrace_process.config(streams, checkpoints=checkpoints)
        with millrace_process.serve(configuration) as server:
            prometheus = stack.enter_context(prometheus_process.scrapes(server.metrics))
            wait_for("a scrape", lambda: prometheus.values("millrace_build_info"))
            for camera in cameras.values():
                camera.thaw()
            with client.Subscriber(server.grpc, "steady"):
                _let_it_happen(server, prometheus, cameras["restless"])
                _let_a_checkpoint_fail(prometheus, disk)
                _wait_until_enough(prometheus)
            # What the last scrape saw is all that the summary tells of.
            for camera in cameras.values():
                camera.freeze()
            wait_for("a scrape after the last frame", lambda: _is_still(prometheus))
            with urllib.request.urlopen(server.metrics) as response:
                metrics = response.read().decode()
        summary = {stream["name"]: stream for stream in server.summary["streams"]}
        yield LiveRun(prometheus, metrics, summary, *_begin_and_end(prometheus))


def _let_it_happen(server: millrace_process.Server, prometheus: Prometheus, camera: RtspCamera):
    """Whatever moves figures that a run without events leaves where they are, waiting until
    Prometheus has seen each."""
    prometheus.see("millrace_service_subscribers == 1")
    urllib.request.urlopen(f"{server.page}/api/streams?viewer=somebody").close()
    prometheus.see("millrace_service_viewers == 1")
    _let_a_subscriber_lose_some(server)
    prometheus.see("millrace_service_subscriber_predictions_dropped_total > 0")
    _let_a_subscriber_fall_behind(server, prometheus)
    with millrace.Client(server.grpc) as api:
        learner = 'millrace_pipeline_learner_state{stream="restless"}'
        api.learner("restless").freeze()
        prometheus.see(f"{learner} == {FROZEN}")
        api.learner("restless").resume()
        prometheus.see(f"{learner} == {LEARNING}")
        with contextlib.suppress(millrace.NotFound):
            api.stream("nowhere")
    prometheus.see('sum(millrace_service_calls_total{code="NOT_FOUND"}) == 1')
    source = 'millrace_ingest_source_state{stream="restless"}'
    prometheus.see(f"{source} == {STREAMING}")
    camera.kill()
    prometheus.see(f"{source} != {STREAMING}")
    camera.come_back(*RESTLESS.pictures(times=2))
    prometheus.see(f"{source} == {STREAMING}")
    prometheus.see("millrace_ingest_size_changes_total == 1")


def _let_a_subscriber_lose_some(server: millrace_process.Server) -> None:
    """It reads one prediction in the time of several, however fast they come. What the network
    holds for it is full some time, and it is not so slow that the server lets go of it."""
    request = prediction_service_pb2.SubscribeRequest(
        stream="crowded", policy=prediction_service_pb2.DELIVERY_POLICY_LATEST)
    with grpc.insecure_channel(server.grpc) as channel:
        call = prediction_service_pb2_grpc.PredictionServiceStub(channel).Subscribe(request)
        while next(call).dropped == 0:
            _wait_for_predictions(server, "crowded", SEVERAL)
        call.cancel()


def _wait_for_predictions(server: millrace_process.Server, stream: str, more: int) -> None:
    """As the server counts them, over all subscribers."""

    def predicted() -> float:
        _, scrape = client.get(server.metrics)
        return client.of_stream(scrape, "millrace_service_frames_predicted_total", stream)

    enough = predicted() + more
    wait_for(f"{more} more predictions of {stream}", lambda: predicted() >= enough)


def _let_a_subscriber_fall_behind(server: millrace_process.Server, prometheus: Prometheus) -> None:
    """It wants every prediction and reads none."""
    request = prediction_service_pb2.SubscribeRequest(
        stream="crowded", policy=prediction_service_pb2.DELIVERY_POLICY_LOSSLESS, depth=1)
    with grpc.insecure_channel(server.grpc) as channel:
        call = prediction_service_pb2_grpc.PredictionServiceStub(channel).Subscribe(request)
        prometheus.see("millrace_service_subscribers_cut_off_total == 1")
        call.cancel()


def _let_a_checkpoint_fail(prometheus: Prometheus, disk: Disk) -> None:
    disk.take_away()
    prometheus.see("millrace_pipeline_checkpoints_failed_total >= 1")
    disk.give_back()


def _wait_until_enough(prometheus: Prometheus) -> None:
    judged = "|".join(STREAMS)
    predicted = f'min(millrace_service_frames_predicted_total{{stream=~"{judged}"}})'
    prometheus.see(f"{predicted} >= {PREDICTIONS}")
    prometheus.see("millrace_pipeline_checkpoints_written_total >= 1")
    prometheus.see(f'millrace_service_overload{{stream="crowded"}} == {DROPS}')


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
