"""tools/build with a cmake that only records its arguments: when it configures, and with which options."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

CMAKE = """#!/bin/bash
echo "$*" >>calls
if [[ $1 == --preset ]]; then
  mkdir -p "build/$2"
  touch "build/$2/build.ninja"
  for argument in "$@"; do
    if [[ $argument == -DMILLRACE_BUILD_TESTS=* ]]; then
      echo "MILLRACE_BUILD_TESTS:BOOL=${argument#*=}" >"build/$2/CMakeCache.txt"
    fi
  done
fi
"""


class BuildTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-build.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "checkout"
        shutil.copytree(SOURCE / "tools", self.root / "tools")
        (self.root / "CMakePresets.json").write_text("{}")
        (self.root / "bin").mkdir()
        (self.root / "bin/cmake").write_text(CMAKE)
        (self.root / "bin/cmake").chmod(0o755)

    def configures(self, *arguments: str, **variables: str) -> list[str]:
        """Runs tools/build, which must build once, and returns how it configured before that."""
        (self.root / "calls").unlink(missing_ok=True)
        environment = {key: value for key, value in os.environ.items() if key != "MILLRACE_LIBTORCH"}
        environment |= {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", **variables}
        subprocess.run([self.root / "tools/build", *arguments], env=environment, check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        *configured, built = (self.root / "calls").read_text().splitlines()
        self.assertTrue(built.startswith("--build --preset release --parallel"), built)
        return configured

    def test_configures_once(self):
        [first] = self.configures("release", "millrace")
        self.assertIn("-DMILLRACE_BUILD_TESTS=OFF", first)
        self.assertEqual(self.configures("release", "millrace"), [])

    def test_builds_tests_from_the_first_time_they_are_asked_for(self):
        self.configures("release")
        [with_tests] = self.configures("release", "--tests")
        self.assertIn("-DMILLRACE_BUILD_TESTS=ON", with_tests)
        self.assertNotIn("--fresh", with_tests)
        self.assertEqual(self.configures("release"), [])

    def test_configures_again_when_the_presets_change(self):
        self.configures("release")
        (self.root / "CMakePresets.json").write_text("{ }")
        self.assertEqual(len(self.configures("release")), 1)

    def test_starts_afresh_with_another_libtorch(self):
        self.configures("release")
        [other] = self.configures("release", MILLRACE_LIBTORCH="/opt/libtorch")
        self.assertIn("-DMILLRACE_LIBTORCH=/opt/libtorch --fresh", other)
        self.assertEqual(self.configures("release", MILLRACE_LIBTORCH="/opt/libtorch"), [])

    def test_starts_afresh_when_the_checkout_was_moved(self):
        self.configures("release")
        self.root = self.root.rename(self.root.with_name("elsewhere"))
        [moved] = self.configures("release")
        self.assertIn("--fresh", moved)

    def test_compiles_as_many_files_at_a_time_as_asked(self):
        self.configures("release", JOBS="7")
        self.assertIn("--parallel 7", (self.root / "calls").read_text())


if __name__ == "__main__":
    unittest.main()
