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
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections.abc import Callable

from chaos_promises import ChaosPromises
from debian_pytorch import in_pytorch
import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from hostile_camera.crowd import Crowd
from hostile_camera.lies import LIES
from liars import Liars, Rounds
import millrace
from millrace.v1 import prediction_service_pb2, prediction_service_pb2_grpc
from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
import numpy
from promises import HANGS_AFTER_S, busy, held
import small_disk
from wall_clock import Clock

AT_ONCE = 8
LISTEN_S = 5
DISK_BYTES = 8 << 20
MOST_MORE_BYTES = 1e9
# Includes the threads of cameras' processes, some 18 each; an old and a new process may exist at the same time.
MOST_MORE_THREADS = 300
MOST_MORE_FILES = 150
# What a fault leaves behind is over by then, on an idle machine.
RECOVERS_WITHIN_S = 15
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
# So small that checkpoints come every second or so. It begins with no motion.
NETWORK = """
import torch
network = torch.nn.Sequential(torch.nn.Conv2d(6, 4, 3, padding=1), torch.nn.Conv2d(4, 2, 3, padding=1))
torch.nn.init.zeros_(network[1].weight)
torch.nn.init.zeros_(network[1].bias)
torch.jit.script(network).save('{path}')"""
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


# ------------------------------------------------------------------------------------- What is done --


def nothing(life: Life) -> None:
    """Only the cameras lie."""
    life.wait_until_more("millrace_service_frames_predicted_total", 100)


def camera_killed(life: Life) -> None:
    life.camera.kill()
    millrace_process.wait_for("the camera to be missed",
                              lambda: life.api.stream("good").source_state is not millrace.SourceState.STREAMING)
    life.camera.come_back()


def camera_frozen(life: Life) -> None:
    life.camera.freeze()
    millrace_process.wait_for("the camera to be missed",
                              lambda: life.api.stream("good").source_state is not millrace.SourceState.STREAMING)
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
            client.get(life.server.metrics.replace("/metrics", "/healthz"))
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


# ------------------------------------------------------------------------------------ What is judged --


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
                server, liars.lies, before.bytes + MOST_MORE_BYTES) as promises:
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
            elif promises.most.threads > before.threads + MOST_MORE_THREADS:
                promises.breaks(f"it has {promises.most.threads} threads, {before.threads} at first")
            broken = list(promises.broken)
            most = promises.most
        allocator = "its own allocator" if clock is None else "glibc's allocator, and a clock that is set"
        self.table.add(f"a life with {allocator}", megabytes=most.bytes / 1e6, threads=most.threads, files=most.files)
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
        except (AssertionError, OSError, millrace.MillraceError) as error:
            promises.breaks(f"{what}: {error}")
            back_s = float("nan")
        promises.more_s = 0
        now = held(life.server.process.pid) if life.server.process.poll() is None else began
        if now.files > began.files + MOST_MORE_FILES:
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
        millrace_process.wait_for("/healthz to say so", lambda: client.get(
            life.server.metrics.replace("/metrics", "/healthz"))[0] == 200)
        back_s = time.monotonic() - begin
        if back_s > RECOVERS_WITHIN_S * busy():
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
    print(f"\n{chaos.table}\n\nbusy {busy():.1f}; {len(chaos.broken)} promises broken")
    return 1 if chaos.broken else 0


if __name__ == "__main__":
    sys.exit(main())
