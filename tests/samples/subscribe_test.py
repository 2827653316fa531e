"""The sample clients print predictions of the real server, and say what is wrong when there is none."""

import os
import re
import socket
import subprocess
import sys
import threading
import unittest

import millrace_process

SUBSCRIBE_PY = millrace_process.ROOT / "samples/python/subscribe.py"
LINE = re.compile(
    r"frame (\d+)  delay \d+ ms  loss \d+\.\d+ of no motion  mean flow [+-]\d+\.\d+ [+-]\d+\.\d+ px"
)


def closed_address() -> str:
    """An address that nobody listens on: the port is taken, but not for listening."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    closed_address.holders.append(holder)
    return f"127.0.0.1:{holder.getsockname()[1]}"


closed_address.holders = []


class SubscribeTest(unittest.TestCase):
    """What holds for both languages."""

    @classmethod
    def setUpClass(cls):
        cls.clients = {
            "python": [sys.executable, str(SUBSCRIBE_PY)],
            "c++": [os.environ["SAMPLE_SUBSCRIBE"]],
        }

    def start(self, client: str, *arguments: str, installed: bool = True) -> subprocess.Popen:
        process = subprocess.Popen(
            [*self.clients[client], *arguments],
            env={**os.environ, "PYTHONPATH": os.environ["MILLRACE_PYTHON_CLIENT"] if installed else ""},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        # Whoever waits for its output in vain must not wait for ever.
        watchdog = threading.Timer(millrace_process.PATIENCE_S, process.kill)
        watchdog.start()
        self.addCleanup(watchdog.cancel)
        return process

    def failure_of(self, client: str, *arguments: str, **options) -> str:
        with self.start(client, *arguments, **options) as process:
            _, errors = process.communicate(timeout=millrace_process.PATIENCE_S)
        self.assertEqual(process.returncode, 1, errors)
        self.assertNotIn("Traceback", errors)
        return errors

    def assert_prints_predictions(self, client: str, *arguments: str):
        with self.start(client, *arguments) as process:
            lines = [process.stdout.readline() for _ in range(5)]
            process.terminate()
        frames = [int(match[1]) for match in map(LINE.match, lines) if match]
        self.assertEqual(len(frames), 5, lines)
        self.assertEqual(frames, sorted(set(frames)))

    def test_prints_predictions(self):
        with millrace_process.serve(millrace_process.config()) as server:
            for client in self.clients:
                with self.subTest(client):
                    self.assert_prints_predictions(client, server.grpc)
                    self.assert_prints_predictions(client, server.grpc, "test")

    def test_ends_when_the_server_does(self):
        with millrace_process.serve(millrace_process.config()) as server:
            clients = [self.start(client, server.grpc) for client in self.clients]
            for client in clients:
                client.stdout.readline()
        for client in clients:
            with client:
                client.communicate(timeout=millrace_process.PATIENCE_S)
            self.assertGreaterEqual(client.returncode, 0, "it ended by itself")

    def test_names_the_streams_there_are(self):
        with millrace_process.serve(millrace_process.config()) as server:
            for client in self.clients:
                with self.subTest(client):
                    self.assertIn("test", self.failure_of(client, server.grpc, "absent"))

    def test_says_that_no_server_runs(self):
        for client in self.clients:
            with self.subTest(client):
                self.assertIn("millrace serve", self.failure_of(client, closed_address()))

    def test_says_that_the_client_is_missing(self):
        self.assertIn("samples/README.md", self.failure_of("python", installed=False))


if __name__ == "__main__":
    unittest.main()
