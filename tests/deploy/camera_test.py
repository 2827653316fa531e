"""Millrace, configured as in deploy/compose.yaml, learns from the camera of that file. The tests' own RTSP server replaces
MediaMTX; the same command publishes to it."""

import contextlib
import pathlib
import shlex
import subprocess
import tempfile
import unittest
from collections.abc import Iterator

import yaml

from millrace_testing import millrace_process, shipped_config
from millrace_testing.millrace_process import ROOT
from millrace_testing.rtsp_camera import RtspCamera

DEPLOY = ROOT / "deploy"
VIDEO = ROOT / ".deps/video/vtest.avi"


def read_yaml(name: str):
    return yaml.safe_load(shipped_config.in_checkout((DEPLOY / name).read_text(), "/var/lib/millrace"))


class CameraTest(unittest.TestCase):
    def setUp(self):
        self.camera = read_yaml("camera.yaml")
        [(self.name, self.path)] = self.camera["paths"].items()
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    @contextlib.contextmanager
    def published(self) -> Iterator[str]:
        """Where what the camera publishes can be watched."""
        with RtspCamera("--record") as server:
            *command, target = shlex.split(self.path["runOnInit"])
            self.assertEqual(target, f"rtsp://127.0.0.1{self.camera['rtspAddress']}/{self.name}")
            command[command.index("/video/street.avi")] = str(VIDEO)
            place = server.url.rsplit("/", 1)[0] + "/publish"
            with subprocess.Popen([*command, place], stdin=subprocess.DEVNULL) as ffmpeg:
                try:
                    yield server.url
                finally:
                    ffmpeg.kill()

    def test_millrace_learns_from_it(self):
        configuration = read_yaml("millrace-camera.yaml")
        [stream] = configuration["streams"]
        self.assertEqual(stream["source"]["uri"], f"rtsp://camera{self.camera['rtspAddress']}/{self.name}")
        configuration["listen"] = millrace_process.config()["listen"]
        configuration["checkpoints"]["folder"] = str(self.folder)
        with self.published() as url:
            stream["source"]["uri"] = url
            ended = millrace_process.serve_to_end(configuration, "--frames", "15")
        self.assertEqual(ended.code, 0, ended.output)
        [summary] = ended.summary["streams"]
        self.assertGreaterEqual(summary["predicted"], 15)

    def test_its_video_is_in_its_image(self):
        self.assertIn(" /opt/millrace/.deps/video/vtest.avi /video/street.avi", (DEPLOY / "Dockerfile").read_text())

    def test_starts_again_when_ffmpeg_has_ended(self):
        self.assertTrue(self.path["runOnInitRestart"])


if __name__ == "__main__":
    unittest.main()
