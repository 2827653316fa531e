"""`millrace watch` with a fake server: streams without end, streams that fail, and streams that never answer."""

import concurrent.futures
import contextlib
import json
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Iterator

import grpc

from millrace.v1 import (prediction_service_pb2, prediction_service_pb2_grpc, stream_pb2,
                         stream_service_pb2, stream_service_pb2_grpc)
from millrace_testing import certificates, millrace_process, terminal


class Streams(stream_service_pb2_grpc.StreamServiceServicer):
    """`names`: the existing streams; without names, the server does not answer."""

    def __init__(self, names: list[str]):
        self._names = names
        self.asked = threading.Event()

    def ListStreams(self, request, context):
        self.asked.set()
        if not self._names:
            ended = threading.Event()
            context.add_callback(ended.set)
            ended.wait(millrace_process.PATIENCE_S)
        return stream_service_pb2.ListStreamsResponse(
            streams=[stream_pb2.Stream(name=name) for name in self._names])


class Predictions(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predicts without end. A stream "broken" predicts only once, and a stream "away" first reports why
    it does not predict."""

    def Subscribe(self, request, context):
        number = 0
        if request.stream == "away" and request.status:
            yield from self.statuses()
        while context.is_active():
            response = prediction_service_pb2.SubscribeResponse(run_id="run", sequence=number)
            response.prediction.stream = request.stream
            response.prediction.frame_number = number
            yield response
            number += 1
            if request.stream == "broken":
                context.abort(grpc.StatusCode.INTERNAL, "the learner threw something")

    @staticmethod
    def statuses():
        for state, cause, age in ((3, "no route to host", 14), (2, "", 15)):
            response = prediction_service_pb2.SubscribeResponse(run_id="run")
            response.status.stream = "away"
            response.status.source_state = state
            response.status.source_cause = cause
            response.status.learner_state = stream_pb2.LEARNER_STATE_LEARNING
            response.status.prediction_age.seconds = age
            yield response


class WatchServer(unittest.TestCase):
    def serve(self, *names: str, credentials: grpc.ServerCredentials | None = None) -> str:
        """Returns the address. `credentials`: of a server that speaks TLS."""
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(8))
        self.streams = Streams(list(names))
        stream_service_pb2_grpc.add_StreamServiceServicer_to_server(self.streams, server)
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(Predictions(), server)
        port = (server.add_secure_port("127.0.0.1:0", credentials) if credentials
                else server.add_insecure_port("127.0.0.1:0"))
        server.start()
        self.addCleanup(lambda: server.stop(0).wait())
        return f"127.0.0.1:{port}"


class WatchTest(WatchServer):
    @contextlib.contextmanager
    def watching(self, address: str, *arguments: str, **options) -> Iterator[subprocess.Popen]:
        with subprocess.Popen([millrace_process.program(), "watch", address, *arguments], text=True,
                              stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **options}) as process:
            try:
                yield process
            finally:
                process.kill()

    def interrupt(self, process: subprocess.Popen) -> int:
        process.send_signal(signal.SIGINT)
        # Further output must not fill the pipe.
        process.stdout.read()
        return process.wait(millrace_process.PATIENCE_S)

    def test_ends_well_once_nobody_reads_what_it_prints(self):
        with self.watching(self.serve("gate", "yard"), "--json") as process:
            self.assertIn("frame_number", json.loads(process.stdout.readline()))
            process.stdout.close()
            self.assertEqual(process.wait(millrace_process.PATIENCE_S), 0, process.stderr.read())
            self.assertEqual(process.stderr.read(), "")

    def test_says_that_what_it_prints_cannot_be_written(self):
        with (open("/dev/full", "w", encoding="utf-8") as full,
              self.watching(self.serve("gate"), stdout=full) as process):
            self.assertEqual(process.wait(millrace_process.PATIENCE_S), 1)
            self.assertIn("standard output: cannot be written", process.stderr.read())

    def test_says_why_nothing_comes_and_counts_predictions_alone(self):
        with self.watching(self.serve("away"), "--count", "2") as process:
            first, *others = process.stdout.read().splitlines()
        self.assertEqual(first, "away  source backing off, last prediction 14 s ago: no route to host")
        self.assertEqual([line.split("  ")[1] for line in others],
                         ["source streaming, last prediction 15 s ago", "frame 0", "frame 1"])

    def test_programs_find_it_on_standard_error_and_predictions_alone_on_standard_output(self):
        with self.watching(self.serve("away"), "--json", "--count", "2") as process:
            numbers = [json.loads(line)["frame_number"] for line in process.stdout.read().splitlines()]
            self.assertEqual(process.stderr.read(),
                             "away  source backing off, last prediction 14 s ago: no route to host\n"
                             "away  source streaming, last prediction 15 s ago\n")
        self.assertEqual(numbers, [0, 1])

    def test_an_interrupt_ends_it_well(self):
        with self.watching(self.serve("gate", "yard")) as process:
            process.stdout.readline()
            self.assertEqual(self.interrupt(process), 0)

    def test_on_a_terminal_each_stream_has_one_line_that_rewrites_itself(self):
        for columns in (80, 30):
            with self.subTest(columns=columns):
                seen = terminal.run("watch", self.serve("gate", "yard"), "--count", "20", columns=columns)
                self.assertEqual(seen.code, 0, seen.shown)
                self.assertFalse(seen.coloured, seen.shown)
                self.assertEqual([line.split("  ")[0] for line in seen.screen], ["gate", "yard", ""])
                for line in seen.screen[:2]:
                    self.assertRegex(line, r"^\w+  frame \d+")
                for name in ("gate", "yard"):
                    states = {line for line in seen.rewritten if line.startswith(f"{name}  frame ")}
                    self.assertGreater(len(states), 1, "it is not written anew")
                for line in seen.rewritten:
                    self.assertLessEqual(len(line), columns)

    def test_an_interrupt_ends_it_while_it_asks_which_streams_there_are(self):
        with self.watching(self.serve()) as process:
            self.assertTrue(self.streams.asked.wait(millrace_process.PATIENCE_S))
            self.assertEqual(self.interrupt(process), 0)

    def test_a_stream_that_fails_is_told_of_while_others_go_on(self):
        with self.watching(self.serve("broken", "yard"), "--json") as process:
            drain = threading.Thread(target=lambda: [None for _ in process.stdout], daemon=True)
            drain.start()
            said = process.stderr.readline()  # Hangs, and is killed by the test's timeout, if nothing is said.
            self.assertIn("broken: the learner threw something", said)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(millrace_process.PATIENCE_S), 1, "one stream has failed")
            drain.join()


class WatchTlsTest(WatchServer):
    """Every mistake of TLS read as a server that does not run."""

    def setUp(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("server", "stranger"):
            (folder / name).mkdir()
            certificates.make_certificate(folder / name, "millrace.test")
        self.certificate, self.key = folder / "server/certificate.pem", folder / "server/key.pem"
        self.stranger = folder / "stranger/certificate.pem"

    def credentials(self, client_ca: pathlib.Path | None = None) -> grpc.ServerCredentials:
        own = [(self.key.read_bytes(), self.certificate.read_bytes())]
        if client_ca is None:
            return grpc.ssl_server_credentials(own)
        return grpc.ssl_server_credentials(own, client_ca.read_bytes(), require_client_auth=True)

    def said(self, address: str, *arguments: str | pathlib.Path) -> str:
        """What it says of a server that it cannot reach, alone on one line."""
        ended = millrace_process.run("watch", address, *map(str, arguments))
        self.assertEqual(ended.returncode, 1, ended.stderr)
        said, = ended.stderr.splitlines()
        return said.removeprefix(f"millrace watch: {address}: ")

    def test_plain_text_to_a_server_that_speaks_tls(self):
        self.assertIn("if it speaks TLS, add --tls, or --ca FILE",
                      self.said(self.serve("gate", credentials=self.credentials())))

    def test_tls_to_a_server_that_speaks_plain_text(self):
        self.assertIn("the server does not speak TLS; leave out --tls",
                      self.said(self.serve("gate"), "--ca", self.certificate))

    def test_a_server_that_is_not_trusted(self):
        address = self.serve("gate", credentials=self.credentials())
        self.assertIn("this machine does not trust the server's certificate", self.said(address, "--tls"))
        self.assertIn(f"none of the certificates in --ca {self.stranger} has signed the server's",
                      self.said(address, "--ca", self.stranger))

    def test_a_name_that_the_certificate_has_not(self):
        address = self.serve("gate", credentials=self.credentials())
        self.assertIn("not for the name '127.0.0.1'; give one of its names with --server-name NAME",
                      self.said(address, "--ca", self.certificate))

    def test_a_certificate_of_the_client_that_is_missing_or_not_trusted(self):
        address = self.serve("gate", credentials=self.credentials(client_ca=self.stranger))
        trust = "--ca", self.certificate, "--server-name", "millrace.test"
        self.assertIn("add --certificate FILE --key FILE", self.said(address, *trust))
        self.assertIn(f"does it trust --certificate {self.certificate}?",
                      self.said(address, *trust, "--certificate", self.certificate, "--key", self.key))

    def test_a_server_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            address = f"127.0.0.1:{closed.getsockname()[1]}"
        self.assertEqual(self.said(address),
                         "nothing listens there; does `millrace serve` run there?")


if __name__ == "__main__":
    unittest.main()
