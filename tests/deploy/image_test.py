"""The image of deploy/Dockerfile serves: its last stage is made on a bare Debian, step by step, and started.

This checkout's installed program replaces the first stage's result; make_image.py also compiles it there.
"""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from bare_debian import BareDebian, need_bare_debian
from container import Container
from image import Build
from millrace_testing.millrace_process import ROOT, wait_for


def built_here(folder: pathlib.Path) -> pathlib.Path:
    """Below it is what the first stage leaves for the second."""
    tree = folder / "runtime/opt/millrace"
    subprocess.run([ROOT / "tools/install", "/opt/millrace"], check=True, capture_output=True,
                   env={**os.environ, "DESTDIR": str(folder / "runtime")})
    packages = subprocess.run([ROOT / "deploy/runtime-packages", tree], check=True, capture_output=True)
    (folder / "runtime/packages").write_bytes(packages.stdout)
    shutil.copytree(ROOT / ".deps/video", folder / "opt/millrace/.deps/video")
    return folder


class ImageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_bare_debian()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.folder.chmod(0o711)  # The image's user has no other rights here.
        BareDebian(cls.folder / "asked").read_package_lists()
        build = Build(cls.folder)
        build.stands_for("build", built_here(cls.folder / "built"))
        cls.image = build.make("")
        cls.learned = cls.folder / "learned"
        cls.learned.mkdir()
        os.chown(cls.learned, *map(int, cls.image.user.split(":")))

    def container(self) -> Container:
        return self.enterContext(Container(self.image, self.learned, self.folder / "log"))

    def test_is_healthy_and_predicts(self):
        container = self.container()
        wait_for("it to be healthy", container.is_healthy)
        watched = container.inside("/opt/millrace/bin/millrace", "watch", "--json", "--count", "3")
        self.assertEqual(watched.returncode, 0, watched.stdout + watched.stderr + container.said())
        predictions = [json.loads(line) for line in watched.stdout.splitlines()]
        self.assertEqual([each["stream"] for each in predictions], ["street"] * 3)

    def test_has_a_command_for_its_health_that_can_say_no(self):
        asked = subprocess.run(
            self.image.debian.command(*self.image.health, options=("--own-network",)),
            capture_output=True, text=True, check=False)
        self.assertNotEqual(asked.returncode, 0)
        self.assertIn("Failed to connect", asked.stderr)

    def test_every_plugin_of_gstreamer_that_is_needed_is_there(self):
        """No library that is left names one that was taken away."""
        listed = self.image.debian.run(
            "sh", "-c", "find /usr/lib/x86_64-linux-gnu/gstreamer-1.0 /opt/millrace -type f -name '*.so*' -exec ldd {} +"
            " | { grep 'not found' || true; }")
        self.assertEqual(listed, "")

    def test_labels_say_what_it_is(self):
        self.assertEqual(self.image.labels["org.opencontainers.image.revision"], "unknown")
        version = (ROOT / "CMakeLists.txt").read_text().split("VERSION ")[2].split()[0]
        self.assertEqual(self.image.labels["org.opencontainers.image.version"], version)


class FirstStageTest(unittest.TestCase):
    def test_makes_what_stands_for_it_here(self):
        lines = [step.rest for step in Build(pathlib.Path()).stage("build").instructions if step.word == "RUN"]
        self.assertRegex(lines[-2], r"DESTDIR=/runtime .*tools/install /opt/millrace ")
        self.assertEqual(lines[-1], "deploy/runtime-packages /runtime/opt/millrace >/runtime/packages")


if __name__ == "__main__":
    unittest.main()
