"""A run of the real server with faults that a healthy server never has, and a real Prometheus."""

import contextlib
import json
import pathlib
import signal
import tempfile
import threading
from collections.abc import Iterator

import grpc
import millrace
import numpy as np
from google.protobuf import struct_pb2
from millrace.v1 import stream_service_pb2, stream_service_pb2_grpc

import changed_weights
from millrace_testing import millrace_process
from prometheus_process import Prometheus
import prometheus_process

SIZE = 64
SEED = 7

# Weights whose outputs are not finite.
BLANK = {"features": 1e10}
# Those with which the flow is as ever, and its slope beyond all measure.
STEEP = {"decode 1/4 b.2": 1e24, "decode 1/4 b.3": 1e24, "decode 1/4 b.4": 1e-24}
# A model whose steps are so large that its weights run away.
WILD = {"model": {"input": [SIZE, SIZE], "learning_rate": 1}}
# One whose stages are planned again as soon as they take another time than measured.
PLANNED = {"model": {"input": [SIZE, SIZE]},
           "schedule": {"kind": "auto", "frames_per_second": 30, "replan_share": 0.001}}
# One whose camera sends far more than it was planned for, so that learning is given up.
HURRIED = {"model": {"input": [SIZE, SIZE]}, "schedule": {"kind": "auto", "frames_per_second": 10}}
# One that sees a scene which moves, and then nothing but noise.
SCENE = {"name": "scene", "source": {"uri": "push:"}, "model": {"input": [SIZE, SIZE]}}


def configuration(folder: pathlib.Path) -> dict:
    streams = [millrace_process.test_stream("wild", **WILD),
               millrace_process.test_stream("planned", **PLANNED),
               millrace_process.test_stream("hurried", frames_per_second=400, **HURRIED), SCENE]
    for name, factors in (("blank", BLANK), ("steep", STEEP)):
        weights = folder / f"{name}.safetensors"
        changed_weights.write(weights, factors)
        streams.append(millrace_process.test_stream(
            name, frames_per_second=10,
            model={"network": "flow", "input": [SIZE, SIZE], "weights": str(weights)}))
    return millrace_process.config(streams)


@contextlib.contextmanager
def trouble_run() -> Iterator[Prometheus]:
    """Runs it until Prometheus has seen all of it; then Prometheus still answers."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="millrace."))
        configured = configuration(pathlib.Path(folder))
        with millrace_process.serve(configured) as server:
            prometheus = stack.enter_context(prometheus_process.scrapes(server.metrics))
            prometheus.see("millrace_build_info")
            with _pushed(server.grpc):
                _let_the_configuration_be_wrong(server, configured, prometheus)
                for metric in ("millrace_pipeline_roll_backs_total",
                               "millrace_pipeline_predictions_not_finite_total",
                               "millrace_pipeline_gradients_not_finite_total",
                               "millrace_pipeline_replans_total",
                               "millrace_pipeline_drifts_total"):
                    prometheus.see(f"{metric} > 0")
                prometheus.see('millrace_pipeline_update_every{stream="hurried"} != 1')
                prometheus.see('millrace_service_overload{stream="hurried"} > 1')
                _let_the_hurried_have_time(server.grpc)
                prometheus.see('millrace_pipeline_update_every{stream="hurried"} == 1')
        yield prometheus


def _let_the_hurried_have_time(server: str) -> None:
    """Makes the stream again, for a camera with the planned rate."""
    entry = struct_pb2.Struct()
    entry.update(millrace_process.test_stream("hurried", frames_per_second=10, **HURRIED) |
                 {"model": {"input": [SIZE, SIZE], "seed": SEED}})
    with grpc.insecure_channel(server) as channel:
        stream_service_pb2_grpc.StreamServiceStub(channel).UpdateStream(
            stream_service_pb2.UpdateStreamRequest(stream="hurried", config=entry, allow_reset=True))


def _let_the_configuration_be_wrong(server: millrace_process.Server, configured: dict,
                                    prometheus: Prometheus) -> None:
    for text, holds in (("no: configuration", 0), (json.dumps(configured), 1)):
        server.config_file.write_text(text)
        server.process.send_signal(signal.SIGHUP)
        prometheus.see(f"millrace_service_config_reload_success == {holds}")


def _scene() -> Iterator[np.ndarray]:
    """For some hundred frames a picture that moves by two pixels a frame; then only noise."""
    random = np.random.default_rng(SEED)
    around = random.integers(0, 256, (SIZE // 8, SIZE // 8), np.uint8).repeat(8, 0).repeat(8, 1)
    for step in range(400):
        yield np.roll(around, 2 * step, axis=1)
    while True:
        yield random.integers(0, 256, (SIZE, SIZE), np.uint8)


@contextlib.contextmanager
def _pushed(server: str) -> Iterator[None]:
    """Pushes the scene while the block runs."""
    over = threading.Event()

    def frames() -> Iterator[np.ndarray]:
        for picture in _scene():
            if over.is_set():
                return
            yield picture

    def push() -> None:
        with millrace.Client(server) as user:
            for _ in user.push("scene", frames()):
                pass

    thread = threading.Thread(target=push)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
