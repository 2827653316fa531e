"""tools/check with predictable steps: the steps that it runs and cuts short, and its exit code."""

import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# `endless` waits on a pipe without a writer, and its child does so, too.
STEPS = """
steps=(good bad endless last)
exit_incomplete=75
step_good() { echo fine; }
step_bad() { echo "line 7 is wrong"; false; echo "not reached"; }
step_endless() { mkfifo pipe; cat pipe & echo $! >child; read -r <>pipe; }
step_last() { echo last; }
"""


def ends(process: int) -> bool:
    """Waits for the end of a process that was told to end: a signal takes its time on a busy machine."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)


class CheckTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-check.")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        shutil.copytree(SOURCE / "tools", self.root / "tools")
        (self.root / "tools/lib/check_steps.sh").write_text(STEPS)

    def check(self, *steps: str, **variables: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.root / "tools/check", *steps], env={**os.environ, **variables},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)

    def test_passes_when_every_step_does(self):
        run = self.check("good", "last")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("2 of 2 checks passed", run.stdout)

    def test_a_step_that_finds_something_fails_the_whole_and_stops_no_other(self):
        run = self.check("bad", "last")
        self.assertEqual(run.returncode, 1)
        self.assertIn("line 7 is wrong", run.stdout)
        self.assertNotIn("not reached", run.stdout)
        self.assertIn("last: passed", run.stdout)
        self.assertIn("\nfailed: bad\n", run.stdout)

    def test_starts_nothing_without_time_and_says_so(self):
        run = self.check(CHECK_BUDGET_S="0")
        self.assertEqual(run.returncode, 0)
        self.assertIn("left out, because the 0 s were used up: good bad endless last\n", run.stdout)

    def test_ends_a_step_with_all_its_processes_when_time_is_up(self):
        run = self.check("endless", "last", CHECK_BUDGET_S="3")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("endless: out of time", run.stdout)
        self.assertIn(": endless last\n", run.stdout)
        self.assertTrue(ends(int((self.root / "child").read_text())), "its child still runs")

    def test_ends_with_a_table_of_the_seconds_of_each_step(self):
        run = self.check("good", "bad", "last")
        self.assertRegex(run.stdout, r"\n  step +seconds\n  good +\d+  passed\n  bad +\d+  FAILED\n  last +\d+  passed\n"
                                     r"  all +\d+\n2 of 3 checks passed")
        run = self.check("good", CHECK_BUDGET_S="0")
        self.assertRegex(run.stdout, r"\n  good +0  left out\n")

    def test_names_the_steps_there_are_when_asked_for_another(self):
        run = self.check("gut")
        self.assertEqual(run.returncode, 1)
        self.assertIn("good bad endless last", run.stderr)


if __name__ == "__main__":
    unittest.main()
