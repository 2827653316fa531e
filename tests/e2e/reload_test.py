"""A server's configuration changes while it runs, and SIGHUP applies it."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import grpc
from millrace.v1 import (learner_service_pb2, learner_service_pb2_grpc, stream_service_pb2,
                         stream_service_pb2_grpc)
from millrace_testing import millrace_process


class ReloadTest(unittest.TestCase):
    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = folder / "millrace.yaml"
        self.config = millrace_process.config(streams=[millrace_process.test_stream("door")])

    def write(self, **changes) -> None:
        self.config |= changes
        self.file.write_text(json.dumps(self.config))

    def start(self, **streams) -> subprocess.Popen:
        process = self.enterContext(subprocess.Popen(
            [millrace_process.program(), "serve", "--config", str(self.file)],
            cwd=millrace_process.ROOT, text=True, **streams))
        self.addCleanup(lambda: process.poll() is None and process.kill())
        return process

    def serve(self, while_it_starts=lambda process: None) -> millrace_process.Server:
        process = self.start(
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        while_it_starts(process)
        server = millrace_process.stands(process)
        channel = self.enterContext(grpc.insecure_channel(server.grpc))
        self.streams = stream_service_pb2_grpc.StreamServiceStub(channel)
        self.learners = learner_service_pb2_grpc.LearnerServiceStub(channel)
        return server

    def reload(self, server: millrace_process.Server) -> str:
        """Returns what it logs from then on, once it has read the file."""
        before = len(server.output)
        server.process.send_signal(signal.SIGHUP)

        def logged() -> str:
            return "".join(server.output[before:])

        millrace_process.wait_for("the reload", lambda: "was read again" in logged())
        return logged()

    def by_name(self) -> dict:
        answer = self.streams.ListStreams(stream_service_pb2.ListStreamsRequest())
        return {stream.name: stream for stream in answer.streams}

    def await_that_it_holds(self, holds: int, server: millrace_process.Server) -> None:
        """Waits until the metrics say that the server's configuration holds, 1, or not, 0."""
        def told() -> bool:
            with urllib.request.urlopen(server.metrics) as response:
                return f"\nmillrace_service_config_reload_success {holds}\n" in response.read().decode()

        millrace_process.wait_for("the metric", told)

    def test_streams_and_rates_change_and_what_takes_a_restart_is_named(self):
        self.write()
        server = self.serve()
        self.await_that_it_holds(1, server)
        run = self.by_name()["door"].run_id
        self.write(
            streams=[millrace_process.test_stream("door"), millrace_process.test_stream("yard")],
            model={"input": [64, 64], "learning_rate": 0.002},
            listen=self.config["listen"] | {"max_viewers": 3})
        logged = self.reload(server)
        self.assertIn("1 stream added, 1 changed", logged)
        millrace_process.wait_for("the warning",
                                  lambda: "listen.max_viewers" in "".join(server.output))
        streams = self.by_name()
        self.assertEqual(sorted(streams), ["door", "yard"])
        self.assertEqual(streams["door"].run_id, run)
        learner = self.learners.GetLearner(
            learner_service_pb2.GetLearnerRequest(stream="door")).learner
        self.assertAlmostEqual(learner.learning_rate, 0.002)

        self.write(optimizer={"clip_update": 2, "weight_decay": 0.001})
        self.assertIn("2 streams changed", self.reload(server), "it keeps no checkpoints, and goes on all the same")
        self.assertEqual(self.by_name()["door"].run_id, run)
        before = list(self.learners.GetLearner(learner_service_pb2.GetLearnerRequest(stream="door")).learner.updates)
        millrace_process.wait_for("more updates", lambda: list(self.learners.GetLearner(
            learner_service_pb2.GetLearnerRequest(stream="door")).learner.updates) > before)
        self.write(optimizer={"kind": "adam"})
        self.assertIn("optimizer.kind", self.reload(server) + "".join(server.output))
        self.assertEqual(self.by_name()["door"].run_id, run)
        self.write(optimizer={})
        self.assertIn("2 streams changed", self.reload(server))
        self.assertIn("'door': the file changes optimizer.clip_update, optimizer.weight_decay", "".join(server.output))

        self.file.write_text("version: 1\nstreams: [{name: door, sources: {}}]\n")
        self.assertIn("did you mean 'source'", self.reload(server) + "".join(server.output))
        self.assertEqual(sorted(self.by_name()), ["door", "yard"])
        self.await_that_it_holds(0, server)

        self.write(streams=[millrace_process.test_stream("yard")])
        self.assertIn("1 stream deleted", self.reload(server))
        self.assertEqual(sorted(self.by_name()), ["yard"])
        self.await_that_it_holds(1, server)
        millrace_process.stop(server)

    def test_a_file_that_changes_while_the_server_starts_is_read_again_then(self):
        names = ["door", "yard", "hall", "gate"]
        self.write(streams=[millrace_process.test_stream(name) for name in names])

        def change(process: subprocess.Popen) -> None:
            for line in process.stdout:
                if "measuring" in line:
                    break
            self.write(streams=self.config["streams"][:-1])
            process.send_signal(signal.SIGHUP)

        server = self.serve(while_it_starts=change)
        millrace_process.wait_for("the reload", lambda: "1 stream deleted" in "".join(server.output))
        self.assertEqual(sorted(self.by_name()), ["door", "hall", "yard"])
        self.assertIn("no stream has changed", self.reload(server))
        millrace_process.stop(server)

    def test_ends_well_when_its_terminal_is_closed(self):
        self.write()
        terminal, its_end = pty.openpty()
        process = self.start(stdin=its_end, stdout=its_end, stderr=its_end, start_new_session=True)
        os.close(its_end)
        stands = threading.Event()

        def read():
            seen = b""
            while b"gRPC" not in seen:
                seen += os.read(terminal, 4096)
            stands.set()

        threading.Thread(target=read, daemon=True).start()
        self.assertTrue(stands.wait(millrace_process.PATIENCE_S))
        os.close(terminal)
        process.send_signal(signal.SIGHUP)  # As the kernel does for whose terminal it was.
        self.assertEqual(process.wait(millrace_process.PATIENCE_S), 0)


if __name__ == "__main__":
    unittest.main()
