"""tools/chaos, for some seconds: it prints a table for a healthy server, and reports one that dies."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from millrace_testing import millrace_process

PROGRAM = pathlib.Path(__file__).with_name("chaos.py")
# It has CPU time for its start and little more.
DIES = """#!/bin/sh
ulimit -c 0
ulimit -t 10
exec {program} "$@"
"""


class ChaosTest(unittest.TestCase):
    def chaos(self, *arguments: str, program: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, PROGRAM, *arguments, "--seed", "1", "--log", self.folder],
                              env=os.environ | {"MILLRACE_PROGRAM": program}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))

    def test_prints_a_table_of_a_server_that_is_well(self):
        run = self.chaos("0.05", program=millrace_process.program())
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for line in (r"\| what \| times \|", r"\| a start \| 1 \|", r"\| SIGKILL \| 1 \|", "0 promises broken"):
            self.assertRegex(run.stdout, line)
        self.assertEqual(list(self.folder.iterdir()), [], "nothing broke: there is no log")

    def test_says_so_when_the_server_dies(self):
        dies = self.folder / "dies"
        dies.write_text(DIES.format(program=millrace_process.program()))
        dies.chmod(0o755)
        run = self.chaos("10", program=str(dies))
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        self.assertIn("BROKEN: ", run.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
