"""The walk through of the samples' README prints the output that the README shows."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

from millrace_testing import millrace_process, shipped_config

ROOT = millrace_process.ROOT
README = (ROOT / "samples/README.md").read_text()


def blocks() -> list[str]:
    """What the walk through has to type, in two blocks, and what it shows."""
    section = README.partition("## A walk through\n")[2].partition("\n## ")[0]
    return re.findall(r"^```\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


def form(output: str) -> list[str]:
    """Its lines without what differs from run to run: figures, whether there is one of the motion
    explained, and when the source came into which state."""
    lines = [re.sub(r"\d+(\.\d+)?", "N", line) for line in output.splitlines()]
    lines = [re.sub(r"explains (N %|none) of", "explains N of", line) for line in lines]
    return [re.sub(r"CREATED .*", "CREATED", line) for line in lines if "SOURCE_STATE" not in line]


class WalkThroughTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def configuration(self) -> dict:
        """The one that the README names, with its ports and its folder replaced by free ones."""
        path = blocks()[0].split()[-1]
        return {**shipped_config.read(ROOT / path),
                "listen": millrace_process.config()["listen"],
                "checkpoints": {"folder": self.folder}}

    def walk(self, address: str) -> subprocess.CompletedProcess:
        script = blocks()[1].split()[-1]
        return subprocess.run([sys.executable, ROOT / script, address], text=True, check=False,
                              env={**os.environ, "PYTHONPATH": os.environ["MILLRACE_PYTHON_CLIENT"]},
                              capture_output=True, timeout=millrace_process.PATIENCE_S)

    def test_prints_what_is_shown_and_can_be_repeated(self):
        with millrace_process.serve(self.configuration()) as server:
            for _ in range(2):
                walked = self.walk(server.grpc)
                self.assertEqual((walked.returncode, walked.stderr), (0, ""))
                self.assertEqual(form(walked.stdout), form(blocks()[2]))

    def test_goes_on_where_no_checkpoints_are_kept(self):
        configuration = self.configuration()
        del configuration["checkpoints"]
        with millrace_process.serve(configuration) as server:
            walked = self.walk(server.grpc)
        self.assertEqual(walked.returncode, 0, walked.stderr)
        self.assertIn("none: stream 'ball' keeps no checkpoints", walked.stdout)
        self.assertIn("DELETED", walked.stdout)

    def test_leaves_a_camera_alone_that_is_there_already(self):
        streams = [millrace_process.test_stream("ball")]
        with millrace_process.serve(millrace_process.config(streams)) as server:
            for _ in range(2):  # It is there still.
                walked = self.walk(server.grpc)
                self.assertEqual(walked.returncode, 1, walked.stdout)
                self.assertRegex(walked.stderr, "^ALREADY_EXISTS: ")


if __name__ == "__main__":
    unittest.main()
