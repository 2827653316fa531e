"""A camera's password, from any source, appears in no output."""

import base64
import contextlib
import json
import os
import pathlib
import tempfile
import unittest
import urllib.parse

import grpc
from millrace.v1 import stream_service_pb2, stream_service_pb2_grpc

from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera

USER = "viewer"
WORD = "plum/cake+4711"
WRONG = "sour-milk-0815"
VARIABLE = "MILLRACE_TEST_CAMERA_PASSWORD"


def camera() -> RtspCamera:
    return RtspCamera("--width", "64", "--height", "64", "--fps", "10", "--gop", "10",
                      "--pattern", "ball", "--user", USER, "--password", WORD)  # fmt: skip


def with_login(url: str, word: str) -> str:
    return url.replace("://", f"://{USER}:{urllib.parse.quote(word, safe='')}@")


def sources(url: str, word_file: pathlib.Path) -> dict[str, dict]:
    """By every way that a password may take, and with a wrong one."""
    return {
        "file": {"uri": url, "user": USER, "password_file": str(word_file)},
        "variable": {"uri": url, "user": USER, "password_env": VARIABLE},
        "uri": {"uri": with_login(url, WORD)},
        "wrong": {"uri": with_login(url, WRONG)},
    }


def forms(word: str) -> list[str]:
    """How a password could be written: as it is, in a URI, and in the words of HTTP and RTSP."""
    basic = base64.b64encode(f"{USER}:{word}".encode()).decode()
    return [word, urllib.parse.quote(word, safe=""), urllib.parse.quote(word), basic]


def pages(server: millrace_process.Server, names: list[str]) -> dict[str, str]:
    """All that the server tells, by where it tells it."""
    probes = server.metrics.removesuffix("/metrics")
    urls = [server.metrics, f"{probes}/readyz", f"{probes}/healthz", server.page,
            f"{server.page}/api/streams", *(f"{server.page}/api/streams/{name}" for name in names)]  # fmt: skip
    told = {url: client.get(url)[1] for url in urls}
    with grpc.insecure_channel(server.grpc) as channel:
        stub = stream_service_pb2_grpc.StreamServiceStub(channel)
        told["ListStreams"] = str(stub.ListStreams(stream_service_pb2.ListStreamsRequest()))
    return told


class PasswordTest(unittest.TestCase):
    def setUp(self):
        os.environ.update({VARIABLE: WORD, "MILLRACE_LOG": "debug"})

    def tearDown(self):
        for name in (VARIABLE, "MILLRACE_LOG"):
            del os.environ[name]

    def assert_secret(self, told: dict[str, str]) -> None:
        for place, text in told.items():
            for form in (*forms(WORD), *forms(WRONG)):
                self.assertNotIn(form, text, place)

    @contextlib.contextmanager
    def configuration(self, gate: RtspCamera):
        with tempfile.TemporaryDirectory(prefix="millrace.") as folder:
            word_file = pathlib.Path(folder, "word")
            word_file.write_text(WORD + "\n")
            yield sources(gate.url, word_file)

    def test_no_page_metric_summary_or_log_tells_it(self):
        with camera() as gate, self.configuration(gate) as by_name:
            configuration = millrace_process.config(
                streams=[{"name": name, "source": source} for name, source in by_name.items()])
            with millrace_process.serve(configuration) as server, \
                    client.Auditor(server, stream="file") as auditor:
                for name in ("file", "variable", "uri"):
                    auditor.wait_for_state("STREAMING", stream=name)
                millrace_process.wait_for("the refusal", lambda: auditor.stream("wrong").source_cause)
                told = pages(server, list(by_name))
                gate.kill()  # Causes that name the URI.
                for name in by_name:
                    auditor.wait_for_state("BACKING_OFF", stream=name)
                told |= {f"{place}, away": text for place, text in pages(server, list(by_name)).items()}
        told["log"] = "".join(server.output)
        told["summary"] = str(server.summary)
        self.assertEqual(auditor.wrong, [])
        self.assertIn("Unauthorized", told["log"], "what was told was read")
        self.assertIn("rtsp://***@", told["ListStreams"])
        self.assert_secret(told)

    def test_check_config_does_not_tell_it(self):
        with camera() as gate, self.configuration(gate) as by_name:
            for name, source in by_name.items():
                wrong = {"max_fps": -1}  # The message could show the source that it is in.
                for keys in ({}, wrong):
                    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                        streams = [{"name": name, "source": source | keys}]
                        file.write(json.dumps(millrace_process.config(streams=streams)))
                        file.flush()
                        result = millrace_process.run("check-config", file.name)
                    self.assertEqual(result.returncode == 0, not keys, result.stdout + result.stderr)
                    self.assert_secret({"check-config": result.stdout + result.stderr})


if __name__ == "__main__":
    unittest.main(verbosity=2)
