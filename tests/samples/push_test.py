"""The sample that pushes frames prints a line for each."""

import os
import re
import subprocess
import sys
import unittest

from millrace_testing import millrace_process

PUSH_PY = millrace_process.ROOT / "samples/python/push.py"


class PushTest(unittest.TestCase):
    def push(self, address: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, PUSH_PY, address], text=True, check=False,
                              env={**os.environ, "PYTHONPATH": os.environ["MILLRACE_PYTHON_CLIENT"]},
                              capture_output=True, timeout=millrace_process.PATIENCE_S)

    def test_each_frame_has_a_line_and_it_can_be_repeated(self):
        with millrace_process.serve(millrace_process.config(streams=[])) as server:
            for _ in range(2):
                pushed = self.push(server.grpc)
                self.assertEqual((pushed.returncode, pushed.stderr), (0, ""))
                first, *rest = pushed.stdout.splitlines()
                self.assertEqual(first, "picture 0  dropped: NO_PREDECESSOR")
                self.assertEqual(len(rest), 49)
                for number, line in enumerate(rest, 1):
                    self.assertRegex(line, rf"^picture {number}  mean flow [+-]\d+\.\d+ [+-]\d+\.\d+ px$")

    def test_says_what_is_in_the_way(self):
        streams = [millrace_process.test_stream("pushed")]
        with millrace_process.serve(millrace_process.config(streams)) as server:
            pushed = self.push(server.grpc)
        self.assertEqual(pushed.returncode, 1)
        self.assertTrue(re.match("ALREADY_EXISTS: ", pushed.stderr), pushed.stderr)


if __name__ == "__main__":
    unittest.main()
