"""Very many connections, idle, slow and half-open, on every port of the server: probes, page and gRPC continue to
answer others. If the process cannot accept, it says so, and accepts again as soon as it can."""

import contextlib
import itertools
import json
import re
import resource
import socket
import threading
import time
import unittest
import urllib.request
from collections.abc import Iterator

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
import millrace
from millrace_testing import millrace_process
from millrace_testing.client import get, sums

IDLE = 10_000
CLIENTS = 20
# What a client of gRPC says first: it has a connection then, on which no call comes.
HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
# The limit of an answer to another client, on an idle machine: 2 s where a stop may take 3. A sanitizer adds to both.
PROMPT_S = 2 / 3 * millrace_process.stop_limit_s(busy_before=1)
# A crowd's own connection waits for its turn.
JOINS_WITHIN_S = 20


def port_of(url: str) -> int:
    return int(re.search(r":(\d+)", url.removeprefix("http://"))[1])


class Crowd:
    """Connections to a port, from many addresses of this machine."""

    def __init__(self, stack: contextlib.ExitStack, port: int, says: bytes = b""):
        self._port = port
        self._says = says
        self._sources = itertools.cycle(f"127.0.0.{2 + number}" for number in range(CLIENTS))
        self._sockets: list[socket.socket] = []
        stack.callback(self.leave)

    def join(self, count: int) -> None:
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", self._port), JOINS_WITHIN_S, (next(self._sources), 0))
            connection.setblocking(False)
            self._sockets.append(connection)
            self._say(connection, self._says)

    def say(self, text: bytes) -> None:
        for connection in self._sockets:
            self._say(connection, text)

    def still_there(self) -> int:
        """Forgets the connections that the server has closed."""
        self._sockets = [each for each in self._sockets if self._is_open(each)]
        return len(self._sockets)

    def leave(self) -> None:
        for connection in self._sockets:
            connection.close()
        self._sockets.clear()

    @staticmethod
    def _say(connection: socket.socket, text: bytes) -> None:
        with contextlib.suppress(ConnectionError, BlockingIOError):  # It may be closed by now, or not listen.
            connection.sendall(text)

    @staticmethod
    def _is_open(connection: socket.socket) -> bool:
        try:
            while True:
                if not connection.recv(4096):
                    connection.close()
                    return False
        except BlockingIOError:
            return True
        except ConnectionError:
            connection.close()
            return False


class CrowdsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.prompt_s = PROMPT_S * millrace_process.busy()  # Before the crowds, which earn no time.

    def setUp(self):
        self.stack = self.enterContext(contextlib.ExitStack())
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (before[0], before[1]))
        self.limit = before[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.limit, self.limit))

    def serve(self, open_files: int | None = None) -> millrace_process.Server:
        configuration = millrace_process.config(
            streams=[millrace_process.test_stream("door", frames_per_second=10)])
        return self.stack.enter_context(millrace_process.serve(configuration, open_files=open_files))

    @contextlib.contextmanager
    def prompt(self, what: str) -> Iterator[None]:
        """The block is one call of another client."""
        begin = time.monotonic()
        yield
        self.assertLess(time.monotonic() - begin, self.prompt_s, what)

    def ask(self, url: str) -> str:
        with self.prompt(url), urllib.request.urlopen(url, timeout=self.prompt_s) as answer:
            return answer.read().decode()

    def assert_all_answer(self, server: millrace_process.Server) -> None:
        probes = server.metrics.removesuffix("/metrics")
        self.assertEqual(self.ask(probes + "/healthz"), "ok\n")
        self.assertTrue(self.ask(probes + "/readyz").startswith("ready\n"))
        self.assertIn("millrace_pipeline_updates_total", self.ask(server.metrics))
        self.assertIn("<html", self.ask(server.page))
        self.assertEqual(len(json.loads(self.ask(server.page + "/api/streams"))["streams"]), 1)
        self.assert_grpc_answers(server)

    def assert_grpc_answers(self, server: millrace_process.Server) -> None:
        with self.prompt("ListStreams"), millrace.Client(server.grpc) as user:
            self.assertEqual([stream.name for stream in user.streams()], ["door"])

    def grpc_answers(self, server: millrace_process.Server) -> bool:
        with millrace.Client(server.grpc) as user:
            try:
                return len(user.streams()) == 1
            except millrace.MillraceError:
                return False

    def open_files(self, server: millrace_process.Server) -> float:
        return sums(self.ask(server.metrics))["process_open_fds"]

    def test_everything_answers_beside_ten_thousand_idle_connections(self):
        if self.limit < IDLE + 1000:
            self.skipTest(f"{self.limit} open files (ulimit -Hn) are too few for {IDLE} connections")
        server = self.serve()
        for url, share in ((server.metrics, 8), (server.page, 8), (server.grpc, 2)):
            with self.subTest(url):
                crowd = Crowd(self.stack, port_of(url))
                # By docs/security.md; for others the oldest make room.
                kept = min(IDLE, self.limit // share) - 10
                self.assertGreater(kept, 1000)

                # After ten seconds the server lets each go: others come in their place.
                def all_there(crowd=crowd, kept=kept):
                    crowd.join(IDLE - crowd.still_there())
                    return self.open_files(server) > kept

                millrace_process.wait_for("as many connections", all_there)
                self.assert_all_answer(server)
                self.assertLess(self.open_files(server), self.limit - self.limit // 4)
                crowd.leave()

    def test_everything_answers_beside_connections_that_say_a_byte_at_a_time(self):
        server = self.serve()
        crowds = [Crowd(self.stack, port_of(url), b"GET /healthz HTTP/1.1\r\nX: ")
                  for url in (server.metrics, server.page)]  # fmt: skip
        for crowd in crowds:
            crowd.join(300)
        done = threading.Event()

        def trickle() -> None:
            while not done.wait(0.1):
                for crowd in crowds:
                    crowd.say(b"x")

        with contextlib.ExitStack() as trickling:
            thread = threading.Thread(target=trickle)
            thread.start()
            trickling.callback(thread.join)
            trickling.callback(done.set)
            for _ in range(5):
                self.assert_all_answer(server)
        # However long they go on, they are let go.
        millrace_process.wait_for("the slow ones to be let go", lambda: sum(
            crowd.still_there() for crowd in crowds) == 0)

    def test_grpc_accepts_again_once_a_crowd_is_gone_that_took_all_it_has(self):
        server = self.serve(open_files=1024)
        crowd = Crowd(self.stack, port_of(server.grpc), HTTP2_PREFACE)
        crowd.join(1_100)
        millrace_process.wait_for("those beyond the bound to be let go", lambda: crowd.still_there() < 600)
        self.assertGreater(crowd.still_there(), 300)
        # It has descriptors left for everything else, and says the truth: it takes connections, and refuses those.
        self.assertLess(self.open_files(server), 900)
        self.assertEqual(get(server.metrics.replace("/metrics", "/healthz")), (200, "ok\n"))
        crowd.leave()
        # That they have gone is noticed within half a second.
        millrace_process.wait_for("gRPC to answer again", lambda: self.grpc_answers(server))
        self.assert_all_answer(server)
        self.assertIn("this process may have 1024 files open", "".join(server.output))

    def test_one_client_leaves_room_for_others(self):
        server = self.serve(open_files=1024)
        crowd = Crowd(self.stack, port_of(server.grpc), HTTP2_PREFACE)
        crowd._sources = itertools.repeat("127.0.0.99")
        crowd.join(1_100)
        self.assert_all_answer(server)

    def test_a_process_that_cannot_accept_says_so_and_accepts_again(self):
        server = self.serve()
        channel = self.stack.enter_context(grpc.insecure_channel(server.grpc))
        watch = health_pb2_grpc.HealthStub(channel).Watch(
            health_pb2.HealthCheckRequest(), timeout=millrace_process.PATIENCE_S)
        self.stack.callback(watch.cancel)

        def wait_for(status: int) -> None:
            for answer in watch:
                if answer.status == status:
                    return
            self.fail("the watch ended")

        wait_for(health_pb2.HealthCheckResponse.SERVING)
        pid = server.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (16, hard))  # Fewer than it has.
        crowd = Crowd(self.stack, port_of(server.grpc), HTTP2_PREFACE)
        crowd.join(10)
        wait_for(health_pb2.HealthCheckResponse.NOT_SERVING)
        millrace_process.wait_for("the log to say why", lambda: "takes no connections" in "".join(server.output))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (hard, hard))
        wait_for(health_pb2.HealthCheckResponse.SERVING)
        self.assert_all_answer(server)

    def test_too_low_a_limit_is_said_at_the_start(self):
        configuration = millrace_process.config()
        with millrace_process.start(configuration, open_files=16) as (process, _):
            output, _ = process.communicate(timeout=millrace_process.PATIENCE_S)
            self.assertEqual(process.returncode, 1, output)
            self.assertIn("this process may have 16 files open, and needs", output)
            self.assertIn("LimitNOFILE", output)

    def test_an_upgrade_is_answered_in_ordinary_http(self):
        server = self.serve()
        for url in (server.page, server.metrics):
            with socket.create_connection(("127.0.0.1", port_of(url)), self.prompt_s) as connection:
                connection.sendall(b"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
                                   b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                   b"Sec-WebSocket-Key: x3JJHMbDL1EzLkh9GBhXDw==\r\n\r\n")
                answer = b"".join(iter(lambda: connection.recv(4096), b""))
            head, _, body = answer.partition(b"\r\n\r\n")
            self.assertTrue(head.startswith(b"HTTP/1.1 404 Not Found\r\n"), answer)
            self.assertIn(f"Content-Length: {len(body)}".encode(), head)


if __name__ == "__main__":
    unittest.main(verbosity=2)
