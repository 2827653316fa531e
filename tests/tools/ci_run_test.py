""".ci/run with fakes of the scripts that it starts: its order, its exit code and its table of seconds."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

FAKE = """#!/bin/sh
echo "${0##*/} $*" >>calls
! grep -qx "${0##*/} $*" failing 2>/dev/null
"""
STEPS = """
steps=(format spelling words layers types protos scripts dockerfile kubernetes prometheus slow tsan fuzz clang asan tidy)
exit_incomplete=75
for step in "${steps[@]}"; do eval "step_$step() { echo check $step >>calls; ! grep -qx 'check $step' failing; }"; done
"""


class CiRunTest(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace-ci.")))
        for part in ("tools", ".ci"):
            shutil.copytree(SOURCE / part, self.root / part)
        shutil.copy(SOURCE / "Makefile", self.root)
        (self.root / "tools/lib/check_steps.sh").write_text(STEPS)
        for name in ("setup", "build", "run-tests"):
            (self.root / "tools" / name).write_text(FAKE)

    def run_all(self, *failing: str) -> subprocess.CompletedProcess:
        (self.root / "failing").write_text("".join(f"{call}\n" for call in failing))
        return subprocess.run([self.root / ".ci/run"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def calls(self) -> list[str]:
        return (self.root / "calls").read_text().splitlines()

    def table(self, run: subprocess.CompletedProcess) -> list[str]:
        """The rows of the last table without their seconds."""
        rows = run.stdout[run.stdout.rindex("  step "):].splitlines()
        return [" ".join(word for word in row.split() if not word.isdigit()) for row in rows]

    def test_the_table_has_the_build_the_tests_each_check_and_the_slice(self):
        run = self.run_all()
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        rows = self.table(run)
        self.assertEqual(rows[:5], ["step seconds", "set-up passed", "build passed", "tests passed", "set-up of checks passed"])
        self.assertEqual(rows[5], "format passed")
        self.assertEqual(rows[-3], "clang passed")
        self.assertIn(rows[-2], [f"{name} passed" for name in ("fuzz", "tidy", "asan", "slow")])
        self.assertEqual(rows[-1], "all")

    def test_a_failing_test_ends_the_run_with_the_table(self):
        run = self.run_all("run-tests release --quick --second-try")
        self.assertNotEqual(run.returncode, 0)
        self.assertEqual(self.table(run), ["step seconds", "set-up passed", "build passed", "tests FAILED", "all"])
        self.assertEqual(self.calls()[-1], "run-tests release --quick --second-try")

    def test_a_finding_of_a_check_ends_the_run_with_the_table(self):
        run = self.run_all("check words")
        self.assertEqual(run.returncode, 1)
        self.assertIn("words FAILED", self.table(run))
        self.assertEqual(self.table(run)[-2], "clang passed")


if __name__ == "__main__":
    unittest.main()
