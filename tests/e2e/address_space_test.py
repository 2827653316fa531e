"""Every too low limit of addresses (`ulimit -v`) gives a message. Without it, the libraries end the process with a signal."""

import json
import resource
import subprocess
import unittest

from millrace_testing import millrace_process

MIB = 1 << 20


class AddressSpaceTest(unittest.TestCase):
    def start(self, limit_mib: int) -> subprocess.CompletedProcess:
        return self.run_millrace(limit_mib, "serve", "--config", "/dev/stdin", "--frames", "1", "--no-progress")

    def run_millrace(self, limit_mib: int, *arguments: str) -> subprocess.CompletedProcess:
        limit = (limit_mib * MIB, limit_mib * MIB)
        return subprocess.run([millrace_process.program(), *arguments],
                              input=json.dumps(millrace_process.config()), text=True, capture_output=True, check=False,
                              timeout=millrace_process.PATIENCE_S,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit))

    def test_a_limit_that_is_too_low_is_refused_in_words(self):
        for limit_mib in (256, 400, 512, 600, 800, 1000, 1100, 1300, 1600, 2000, 3000, 4000):
            with self.subTest(limit_mib):
                ended = self.start(limit_mib)
                # 127: the loader of libraries has said so, before anything of the program ran.
                self.assertIn(ended.returncode, (1, 127), ended.stderr)
                self.assertRegex(ended.stderr, "ulimit -v unlimited|failed to map segment|cannot map|cannot allocate memory")

    def test_one_stream_is_no_streams(self):
        self.assertIn("for 1 stream: lift the limit", self.start(4000).stderr)

    def test_check_config_says_the_same(self):
        for ended in (self.run_millrace(3072, "check-config", "/dev/stdin"), self.start(3072)):
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertRegex(ended.stderr, r"this process may have 3072 MiB of addresses, and needs \d+ for 1 stream: lift")

    def test_with_enough_it_serves(self):
        ended = self.start(32 << 10)
        self.assertEqual(ended.returncode, 0, ended.stderr)


if __name__ == "__main__":
    unittest.main()
