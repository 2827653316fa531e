"""What tools/chaos does to a server: each fault, and the life in which it happens."""

import contextlib
import dataclasses
import pathlib
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Callable

from chaos_promises import ChaosPromises
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
import millrace
from millrace.v1 import prediction_service_pb2, prediction_service_pb2_grpc
from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
import numpy
from promises import HANGS_AFTER_S
import small_disk
from wall_clock import Clock

STOPS_FOR_S = 3
SILENT_CLIENTS = 30
CONNECTIONS = 2000
WITHOUT_DESCRIPTORS_S = 3
# What the configuration permits. The least of the streams that do not fit needs 6 GB.
MEMORY_GB = 4
TOO_LARGE = [{"input": [2048, 1536]}, {"input": [1024, 1024], "network": "ndconv"},
             {"task": "regression", "outputs": 1, "input": [1024, 1024], "width": 4096}]
STREAMS_TOO_LARGE = 12
# Clients of one process share a connection otherwise.
OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]
# The client with too many connections: another one than the client that controls the server.
CROWD_ADDRESS = "127.0.0.2"
# Holds `count` connections, from its own address, until its input ends: each port has its share.
HOLD_CONNECTIONS = """
import resource, socket, sys
count, source, ports = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = []
for number in range(count):
    try:
        held.append(socket.create_connection(('127.0.0.1', int(ports[number % len(ports)])), 1, (source, 0)))
    except OSError:
        pass
print(len(held), flush=True)
sys.stdin.read()
"""


@dataclasses.dataclass
class Life:
    """A server, from its start to its end, and those around it."""

    server: millrace_process.Server
    api: millrace.Client
    promises: ChaosPromises
    camera: RtspCamera
    clock: Clock | None  # None: the server sees the machine's.
    disk: pathlib.Path | None  # Of its checkpoints, if it is one that can be filled.

    def metrics(self) -> dict[str, float]:
        return client.sums(client.get(self.server.metrics)[1])

    def wait_until_more(self, metric: str, by: float = 1) -> None:
        before = self.metrics()[metric]
        millrace_process.wait_for(f"{metric} to rise by {by}", lambda: self.metrics()[metric] >= before + by)

    def wait_until_the_camera_is_missed(self) -> None:
        millrace_process.wait_for("the camera to be missed", lambda: self.api.stream(
            "good").source_state is not millrace.SourceState.STREAMING)

    def healthz(self) -> int:
        """The status of the answer."""
        return client.get(self.server.metrics.replace("/metrics", "/healthz"))[0]

    def wait_until_both_predict(self) -> None:
        before = {name: self.api.stream(name).frames.predicted for name in ("good", "street")}
        for name, predicted in before.items():
            millrace_process.wait_for(f"{name} to predict", lambda name=name, predicted=predicted: self.api.stream(
                name).frames.predicted > predicted)

    def serves_a_new_client(self) -> bool:
        with grpc.insecure_channel(self.server.grpc, OWN_CONNECTION) as channel:
            try:
                answer = health_pb2_grpc.HealthStub(channel).Check(
                    health_pb2.HealthCheckRequest(), timeout=HANGS_AFTER_S)
            except grpc.RpcError:
                return False
            return answer.status == health_pb2.HealthCheckResponse.SERVING

    def is_refused(self, because: str, **stream) -> bool:
        """Asks for a stream. One that is added is deleted again."""
        added = False
        with self.promises.answers("another CreateStream"):
            try:
                self.api.create_stream(millrace_process.test_stream("another", **stream), timeout=HANGS_AFTER_S)
                added = True
            except millrace.ResourceExhausted as error:
                if because not in error.message:
                    raise
        if added:
            self.api.delete_stream("another", timeout=HANGS_AFTER_S)
        return not added

    def ports(self) -> list[str]:
        return [url.removesuffix("/metrics").rpartition(":")[2]
                for url in (self.server.grpc, self.server.page, self.server.metrics)]


def nothing(life: Life) -> None:
    """Only the cameras lie."""
    life.wait_until_more("millrace_service_frames_predicted_total", 100)


def camera_killed(life: Life) -> None:
    life.camera.kill()
    life.wait_until_the_camera_is_missed()
    life.camera.come_back()


def camera_frozen(life: Life) -> None:
    life.camera.freeze()
    life.wait_until_the_camera_is_missed()
    life.camera.thaw()


def silent_clients(life: Life) -> None:
    """They subscribe, each by a connection of its own, and take nothing until they are let go."""
    with contextlib.ExitStack() as stack:
        request = prediction_service_pb2.SubscribeRequest(stream="street")
        before = life.metrics()["millrace_service_subscribers_cut_off_total"]
        calls = []
        for _ in range(SILENT_CLIENTS):
            channel = stack.enter_context(grpc.insecure_channel(life.server.grpc, OWN_CONNECTION))
            calls.append(prediction_service_pb2_grpc.PredictionServiceStub(channel).Subscribe(request))
        millrace_process.wait_for("the silent to be let go", lambda: life.metrics()[
            "millrace_service_subscribers_cut_off_total"] >= before + SILENT_CLIENTS)
        for call in calls:
            call.cancel()


def server_stopped(life: Life) -> None:
    """As by a debugger, or by a machine that sleeps."""
    life.promises.more_s = STOPS_FOR_S
    life.server.process.send_signal(signal.SIGSTOP)
    time.sleep(STOPS_FOR_S)
    life.server.process.send_signal(signal.SIGCONT)
    life.wait_until_more("millrace_service_frames_predicted_total")


def many_connections(life: Life) -> None:
    """Silent connections to all of its ports."""
    with subprocess.Popen([sys.executable, "-c", HOLD_CONNECTIONS, str(CONNECTIONS), CROWD_ADDRESS, *life.ports()],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        holder.stdout.readline()
        with life.promises.answers("a new client", "gRPC"):
            if not life.serves_a_new_client():
                raise AssertionError("a new client is not served")
        with life.promises.answers("a probe", "/healthz"):
            life.healthz()
        holder.stdin.close()


def no_descriptors(life: Life) -> None:
    """For some seconds the server can open no file and accept no connection.

    Old connections are answered as promptly as ever, and both true streams predict. A new stream is refused, unless
    another one has closed a file just now. Until there are descriptors again, the promises of other new streams, of
    changes, and of new connections are held off: scrapes and probes have no answer meanwhile. No time is added to a
    limit.
    """
    pid = life.server.process.pid
    with life.promises.held_off():
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        # A file gets the lowest free number, which must be below the limit.
        taken = {int(file.name) for file in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(set(range(len(taken) + 1)) - taken), hard))
        try:
            refused = 0
            end = time.monotonic() + WITHOUT_DESCRIPTORS_S
            while time.monotonic() < end:
                refused += life.is_refused("Too many open files")
                life.wait_until_both_predict()
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    if refused == 0:
        raise AssertionError("the server had descriptors")


def streams_too_large(life: Life) -> None:
    """Each is refused, while both true streams go on, and takes no memory: see the limit of all memory."""
    for number in range(STREAMS_TOO_LARGE):
        model = TOO_LARGE[number % len(TOO_LARGE)]
        if not life.is_refused("of memory are needed", model=model):
            raise AssertionError(f"a stream is added that does not fit in memory: {model}")
        life.wait_until_both_predict()


def large_requests(life: Life) -> None:
    """Sixteen at once, of 24 MB each."""

    def ask() -> None:
        picture = numpy.zeros((2000, 2000, 3), numpy.uint8)
        with contextlib.suppress(millrace.MillraceError), millrace.Client(life.server.grpc) as other:
            other.predict("good", [picture, picture], timeout=HANGS_AFTER_S)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def clock_set(life: Life) -> None:
    if life.clock is None:
        raise unittest.SkipTest("the machine's clock")
    for seconds in (3600, -3600, 0):
        life.clock.step_to(seconds)
        life.wait_until_more("millrace_service_frames_predicted_total", 20)


def disk_full(life: Life) -> None:
    if life.disk is None:
        raise unittest.SkipTest("no disk of its own")
    filler = small_disk.fill(life.disk)
    try:
        life.wait_until_more("millrace_pipeline_checkpoints_failed_total")
    finally:
        filler.unlink()
    life.wait_until_more("millrace_pipeline_checkpoints_written_total")


def file_read_again(life: Life) -> None:
    life.server.process.send_signal(signal.SIGHUP)
    millrace_process.wait_for("the configuration to be read", lambda: life.metrics()[
        "millrace_service_config_reload_success"] == 1)


FAULTS: dict[str, Callable[[Life], None]] = {
    "cameras lie": nothing,
    "a camera is killed": camera_killed,
    "a camera is frozen": camera_frozen,
    f"{SILENT_CLIENTS} clients stop reading": silent_clients,
    f"the server is stopped for {STOPS_FOR_S} s": server_stopped,
    f"{CONNECTIONS} connections": many_connections,
    f"no descriptors for {WITHOUT_DESCRIPTORS_S} s": no_descriptors,
    f"{STREAMS_TOO_LARGE} streams that do not fit in memory": streams_too_large,
    "16 requests of 24 MB": large_requests,
    "the clock is set by an hour": clock_set,
    "the disk is full": disk_full,
    "the configuration is read again": file_read_again,
}
