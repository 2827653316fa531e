"""The sample clients print predictions of the real server, and report the cause if there is no server. A fake server gives
the rare answers."""

import math
import os
import re
import socket
import subprocess
import sys
import threading
import unittest

import grpc
from millrace.v1 import prediction_pb2

from millrace_testing import fake_server, lives, millrace_process

SUBSCRIBE_PY = millrace_process.ROOT / "samples/python/subscribe.py"
LINE = re.compile(
    r"frame (\d+)  delay \d+ ms  explains (?:\d+ %|none) of the motion  mean flow [+-]\d+\.\d+ [+-]\d+\.\d+ px"
)


def closed_address() -> str:
    """An address without a listener: the port is taken, but not for listening."""
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    closed_address.holders.append(holder)
    return f"127.0.0.1:{holder.getsockname()[1]}"


closed_address.holders = []


def prediction(frame_number: int, side: int = 16) -> dict:
    """The fields of one of a square grid on which nothing moves."""
    flow = prediction_pb2.Tensor(shape=[side, side, 2], data_type=prediction_pb2.DATA_TYPE_FLOAT32,
                                 data=bytes(side * side * 8))
    return {"frame_number": frame_number, "flow": flow, "loss": 1, "loss_no_motion": 2}


class SubscribeTest(unittest.TestCase):
    """Tests for both languages."""

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
        # A test that gets no output must not wait without limit.
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

    def assert_ends_well(self, client: subprocess.Popen):
        _, errors = client.communicate(timeout=millrace_process.PATIENCE_S)
        self.assertEqual(client.returncode, 0, errors)

    def test_prints_predictions_of_the_largest_grid(self):
        for name in self.clients:
            with self.subTest(name), fake_server.FakeServer() as server:
                server.publish(**prediction(7, side=2048))
                with self.start(name, server.address) as client:
                    self.assertRegex(client.stdout.readline(), "^frame 7 .* mean flow [+]0.000 [+]0.000 px")
                    server.end_calls(None)
                    self.assert_ends_well(client)

    def test_says_what_a_camera_does_that_sends_nothing(self):
        for name in self.clients:
            with self.subTest(name), fake_server.FakeServer() as server:
                server.tell(source_state=3, source_cause="no route to host")
                server.tell(source_state=2)
                server.publish(**prediction(7))
                with self.start(name, server.address) as client:
                    self.assertEqual(client.stdout.readline(), "camera BACKING_OFF  no route to host\n")
                    self.assertRegex(client.stdout.readline(), "^frame 7 ")
                    server.end_calls(None)
                    self.assert_ends_well(client)

    def test_says_what_becomes_of_the_learner_whatever_the_camera_does(self):
        for name in self.clients:
            with self.subTest(name), fake_server.FakeServer() as server:
                server.tell(source_state=2, learner_state=5)
                server.tell(source_state=3, source_cause="no route", learner_state=2,
                            learner_cause="not finite")
                server.publish(**prediction(7))
                with self.start(name, server.address) as client:
                    self.assertEqual(client.stdout.readline(), "learner paused\n")
                    self.assertEqual(client.stdout.readline(), "learner failed  not finite\n")
                    self.assertRegex(client.stdout.readline(), "^frame 7 ")
                    server.end_calls(None)
                    self.assert_ends_well(client)

    def test_says_how_much_of_the_motion_is_explained(self):
        for name in self.clients:
            with self.subTest(name), fake_server.FakeServer() as server:
                for frame, loss, loss_no_motion in ((0, 0.74, 1), (1, 3, 2), (2, 1, 0), (3, math.nan, 1)):
                    server.publish(**{**prediction(frame), "loss": loss, "loss_no_motion": loss_no_motion})
                with self.start(name, server.address) as client:
                    said = [client.stdout.readline().split(" ms")[1].split("  mean")[0] for _ in range(4)]
                    server.end_calls(None)
                    self.assert_ends_well(client)
                self.assertEqual(said, ["  explains 26 % of the motion", "  explains none of the motion", "", ""])

    def test_goes_on_after_a_lost_connection_though_the_camera_was_away_from_the_start(self):
        for name in self.clients:
            with self.subTest(name), fake_server.FakeServer() as server:
                server.tell(source_state=3, source_cause="no route to host")
                with self.start(name, server.address) as client:
                    self.assertRegex(client.stdout.readline(), "^camera BACKING_OFF ")
                    server.end_calls(fake_server.UNAVAILABLE)
                    server.publish(**prediction(7))
                    self.assertRegex(client.stdout.readline(), "^frame 7 ")
                    server.end_calls(None)
                    self.assert_ends_well(client)

    def test_goes_on_with_a_server_that_begins_anew_and_is_away_again_before_it_predicts(self):
        for name in self.clients:
            with self.subTest(name), fake_server.FakeServer() as server:
                server.publish(**prediction(7))
                with self.start(name, server.address) as client:
                    self.assertRegex(client.stdout.readline(), "^frame 7 ")
                    first, server.life = server.life, lives.Life("second")
                    server.publish(**prediction(1))
                    another_run = fake_server.Error(grpc.StatusCode.OUT_OF_RANGE)
                    server.refuse("Subscribe", another_run, fake_server.UNAVAILABLE)
                    first.end(fake_server.UNAVAILABLE)
                    self.assertRegex(client.stdout.readline(), "^frame 1 ")
                    server.end_calls(None)
                    self.assert_ends_well(client)
                asked = server.requests["Subscribe"]
                self.assertEqual([request.HasField("resume") for request in asked],
                                 [False, True, False, False])

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
