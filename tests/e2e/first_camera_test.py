"""A user's own camera, by the README: the installed program, an empty folder, and a camera that needs a
password and has another port than its URI."""

import contextlib
import os
import pathlib
import re
import shlex
import stat
import subprocess
import tempfile
import unittest
from collections.abc import Iterator

import millrace
from millrace_testing import millrace_process
from millrace_testing.rtsp_camera import RtspCamera
from network_namespace import NetworkNamespace

ROOT = millrace_process.ROOT
URI = "rtsp://user:password@camera.local/stream1"
CAMERA = ["--port", "554", "--path", "/stream1", "--user", "user", "--password", "password"]
WIDE = ["--width", "640", "--height", "360", "--fps", "10"]
NARROW = ["--width", "640", "--height", "480", "--fps", "10"]


def setUpModule():
    NetworkNamespace(hosts={"camera.local": "127.0.0.1"}).enter()


def section(title: str) -> str:
    """Of the README."""
    text = (ROOT / "README.md").read_text()
    return re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)[1]


def blocks(text: str, language: str = "") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def predictions(grpc: str, count: int) -> list[millrace.Prediction]:
    with millrace.Client(grpc) as client:
        return [seen for seen, _ in zip(client.predictions(), range(count))]


class FirstCameraTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        cls.prefix = folder / "usr/local"
        subprocess.run([ROOT / "tools/install", "/usr/local"], env={**os.environ, "DESTDIR": str(folder)},
                       check=True, capture_output=True)

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        self.environment = {**os.environ, "PATH": f"{self.prefix}/bin:{os.environ['PATH']}"}

    def run_line(self, line: str) -> subprocess.CompletedProcess:
        """As it is typed."""
        return subprocess.run(["bash", "-c", line], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, check=False, timeout=millrace_process.PATIENCE_S)

    @contextlib.contextmanager
    def serving(self, line: str) -> Iterator[millrace_process.Server]:
        with subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=self.folder, env=self.environment,
                              text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT) as process:
            try:
                server = millrace_process.stands(process)
                yield server
                millrace_process.stop(server)
            finally:
                if process.poll() is None:
                    process.kill()

    def test_the_readmes_section_walked_word_for_word(self):
        text = section("Point it at a camera")
        commands = blocks(text)[0].splitlines()
        self.assertEqual(shlex.split(commands[0]), ["millrace", "init", URI])
        with RtspCamera(*CAMERA, *WIDE):
            said = ""
            for line in commands[:-1]:
                done = self.run_line(line)
                self.assertEqual(done.returncode, 0, done.stderr)
                said += done.stdout + done.stderr
            self.assertRegex(said, r"640x360 at 10 frames a second, H\.264")
            self.assertRegex(said, r"expect +\d+\.\d frames a second")
            self.assertIn("millrace serve", said)
            with self.serving(commands[-1]) as server:
                seen = predictions(server.grpc, 60)
                said += "".join(server.output)
        self.assertNotIn("password@", said)

        written = self.folder / "millrace.yaml"
        self.assertEqual(os.listdir(self.folder), ["millrace.yaml"])
        self.assertEqual(stat.S_IMODE(written.stat().st_mode), 0o600)
        self.assertEqual(written.read_text(), blocks(text, "yaml")[0])
        self.assertEqual(written.read_text(), (ROOT / "samples/camera.yaml").read_text())

        # In the camera's shape, and by one factor its pixels.
        for prediction in seen:
            self.assertEqual(prediction.camera, (640, 360))
            self.assertEqual(prediction.flow.shape, (224, 400, 2))
            self.assertAlmostEqual(prediction.view.scale, 1.6, delta=0.01)
        # Warm: the installed weights, and motion is seen from the first frames on.
        self.assertIn(f"from {self.prefix}/share/millrace/weights/refine-start.safetensors", said)
        explained = sum(p.loss for p in seen) / sum(p.loss_no_motion for p in seen)
        self.assertLess(explained, 0.95)  # Of random weights: 1.00.

    def test_a_file_that_is_there_stays(self):
        (self.folder / "millrace.yaml").write_text("mine")
        with RtspCamera(*CAMERA, *WIDE):
            done = self.run_line(f"millrace init {URI}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--force", done.stderr)
        self.assertEqual((self.folder / "millrace.yaml").read_text(), "mine")

    def test_a_camera_that_is_away_is_said_with_the_cause_and_nothing_is_written(self):
        for line, says in [(f"millrace init {URI}", "refused"),
                           ("millrace init rtsp://nowhere.local/1", "nowhere.local"),
                           ("millrace init v4l2:/dev/no-camera", "/dev/no-camera")]:
            with self.subTest(line):
                done = self.run_line(line)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(says, done.stderr)
                self.assertIn("--offline", done.stderr)
                self.assertNotIn("password@", done.stderr + done.stdout)
                self.assertEqual(os.listdir(self.folder), [])

    def test_a_wrong_password_is_named_as_the_cause(self):
        with RtspCamera(*CAMERA, *WIDE):
            done = self.run_line("millrace init rtsp://user:wrong@camera.local/stream1")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "(?i)password")
        self.assertNotIn("wrong", done.stderr)

    def test_what_is_no_uri_is_refused_before_anything_is_looked_at(self):
        for line in ["millrace init rtsp://", "millrace init gopher://x", f"millrace init {URI} --name 'a b'"]:
            with self.subTest(line):
                done = self.run_line(line)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertEqual(os.listdir(self.folder), [])

    def test_offline_writes_the_file_all_the_same(self):
        done = self.run_line(f"millrace init {URI} --offline")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "millrace.yaml").read_text(),
                         (ROOT / "samples/camera.yaml").read_text())

    def test_without_a_configuration_serve_says_how_to_get_one(self):
        done = self.run_line("millrace serve")
        self.assertEqual(done.returncode, 2)
        self.assertIn("millrace init", done.stderr)


class AwayAtTheStartTest(unittest.TestCase):
    """With the program as it was built."""

    def setUp(self):
        self.configuration = {"version": 1, "listen": {"grpc_port": 0, "http_port": 0, "metrics_port": 0},
                              "streams": [{"name": "door", "source": {"uri": URI}}]}

    def test_the_stream_is_made_anew_once_its_camera_shows_another_shape(self):
        with RtspCamera(*CAMERA, *NARROW) as camera:
            camera.kill()
            with millrace_process.serve(self.configuration) as server:
                self.assertIn("at 400x224", "".join(server.output))
                camera.come_back()
                with millrace.Client(server.grpc) as client:
                    # Those of the model that was made for what was assumed come first.
                    seen = next(p for p in client.predictions() if p.grid == (320, 240))
                self.assertEqual(seen.camera, (640, 480))
                self.assertAlmostEqual(seen.view.scale, 2)
                said = "".join(server.output)
        self.assertIn("a camera of 16:9 and 25 frames a second is assumed", said)
        self.assertIn("it restarts for 320x240", said)


if __name__ == "__main__":
    unittest.main()
