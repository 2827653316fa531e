"""A server whose network runs on other hosts, too: processes in a private network, at an address of their own."""

import contextlib
import hashlib

import pathlib
import re
import secrets
import signal
import subprocess
import tempfile
import unittest

from millrace_testing import millrace_process
from network_namespace import NetworkNamespace

ADDRESS = "10.0.0.1"
LEADER = f"{ADDRESS}:29500"
VIDEO = millrace_process.ROOT / ".deps/video/vtest.avi"


def setUpModule():
    NetworkNamespace(addresses=(ADDRESS,)).enter()


class RanksTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.secret = self.folder / "ranks.secret"
        self.secret.touch(mode=0o600)
        self.secret.write_text(secrets.token_hex(32) + "\n")

    def config(self, ranks: list[int], checkpoints: str, **source) -> dict:
        schedule = {"kind": "one_f_one_b_star", "stages": 3, "cuts": [2, 5]}
        sections = {}
        if ranks:
            schedule["stages_on"] = ranks
            sections["ranks"] = {"listen": LEADER, "secret_file": str(self.secret)}
        stream = {"name": "street", "source": {"uri": str(VIDEO), **source}, "schedule": schedule,
                  "checkpoints": {"folder": str(self.folder / checkpoints), "every": 200}}
        return millrace_process.config(streams=[stream], **sections)

    @contextlib.contextmanager
    def joined(self, *more: str):
        """A process that joins, with its output in `log`."""
        with tempfile.NamedTemporaryFile("w", dir=self.folder) as log, subprocess.Popen(
                [millrace_process.program(), "join", LEADER, "--secret-file", str(self.secret), *more],
                stdout=log, stderr=subprocess.STDOUT, text=True) as process:
            process.log = pathlib.Path(log.name)
            try:
                yield process
            finally:
                process.kill()

    def join(self, *more: str) -> subprocess.Popen:
        return self.enterContext(self.joined(*more))

    def stage_files(self, checkpoints: str) -> dict[str, str]:
        return {str(file.relative_to(self.folder / checkpoints)):
                hashlib.sha256(file.read_bytes()).hexdigest()
                for file in (self.folder / checkpoints).rglob("*.safetensors")}

    def lost(self, server: millrace_process.Server) -> str:
        """The line with which the stream fails."""
        def line() -> str:
            return next((line for line in server.output if "predicts no more" in line), "")
        return millrace_process.wait_for("the stream's failure", line)

    def fails_well(self, server: millrace_process.Server) -> None:
        """After a stream's failure: the server answers, and ends with every frame accounted for."""
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(millrace_process.PATIENCE_S)
        self.assertEqual(1, server.process.returncode)

    def test_a_file_teaches_what_it_teaches_one_process(self):
        file = {"as_camera": False, "loop": False}
        alone = millrace_process.serve_to_end(self.config([], "alone", **file))
        self.assertEqual(0, alone.code, alone.output)
        followers = [self.join() for _ in range(2)]
        ranks = millrace_process.serve_to_end(self.config([2, 1, 0], "ranks", **file))
        self.assertEqual(0, ranks.code, ranks.output)
        self.assertEqual(alone.summary["predicted"], ranks.summary["predicted"])
        files = self.stage_files("ranks")
        self.assertTrue(files)
        self.assertEqual(self.stage_files("alone"), files)
        # They wait for the next leader, and end at a wish.
        for follower in followers:
            millrace_process.wait_for("the follower", lambda f=follower:
                                      "the run has ended; waiting for a leader" in f.log.read_text())
            follower.terminate()
            self.assertEqual(0, follower.wait(millrace_process.PATIENCE_S), follower.log.read_text())

    def test_the_next_server_leads_the_same_hosts(self):
        self.join()
        for _ in range(2):
            ranks = millrace_process.serve_to_end(self.config([1, 1, 0], "ranks"), "--frames", "40")
            self.assertEqual(0, ranks.code, ranks.output)
        self.assertRegex(ranks.output, r"from \S+/checkpoint-\d+\n +where it ended after 4\d frames")

    def test_a_killed_host_is_named_at_once(self):
        follower = self.join()
        with millrace_process.start(self.config([1, 1, 0], "killed")) as (process, _):
            server = millrace_process.stands(process)
            follower.kill()
            line = self.lost(server)
            self.assertIn(f"rank 1 (process {follower.pid} on ", line)
            self.assertIn("is lost", line)
            self.fails_well(server)

    def test_a_frozen_host_is_lost_after_ten_seconds(self):
        follower = self.join()
        with millrace_process.start(self.config([1, 1, 0], "frozen")) as (process, _):
            server = millrace_process.stands(process)
            follower.send_signal(signal.SIGSTOP)
            self.assertIn("is lost: no sign of life for 10 s", self.lost(server))
            follower.send_signal(signal.SIGCONT)
            self.fails_well(server)

    def test_a_killed_leader_leaves_hosts_that_wait_for_the_next(self):
        follower = self.join()
        with millrace_process.start(self.config([1, 1, 0], "leader")) as (process, _):
            millrace_process.stands(process)
            process.kill()
            # Before the leader there was, it said that it waits, too.
            millrace_process.wait_for("the follower", lambda: re.search(
                r"rank 0 \(process .*waiting for a leader", follower.log.read_text()))
        ranks = millrace_process.serve_to_end(self.config([1, 1, 0], "leader"), "--frames", "20")
        self.assertEqual(0, ranks.code, ranks.output)

    def test_another_secret_is_refused_on_both_sides(self):
        other = self.folder / "other.secret"
        other.touch(mode=0o600)
        other.write_text(secrets.token_hex(32))
        with millrace_process.start(self.config([1, 1, 0], "secret")) as (process, _):
            wrong = subprocess.run(
                [millrace_process.program(), "join", LEADER, "--secret-file", str(other)],
                capture_output=True, text=True, timeout=millrace_process.PATIENCE_S, check=False)
            self.assertEqual(1, wrong.returncode, wrong.stderr)
            self.assertIn("the leader has another secret", wrong.stderr)
            self.join()
            server = millrace_process.stands(process)
            self.assertIn("ranks: not joined: a process that asked to join: it does not have this secret",
                          "".join(server.output))

    def test_a_stop_ends_the_wait_for_hosts(self):
        with millrace_process.start(self.config([1, 1, 0], "stop")) as (process, _):
            for line in process.stdout:
                if "waiting for 1 other host" in line:
                    break
            self.assertIn(f"millrace join {LEADER} --secret-file FILE", line)
            process.terminate()
            self.assertEqual(0, process.wait(millrace_process.PATIENCE_S))

    def test_a_port_in_use_is_said_before_anything_is_measured(self):
        config = self.config([1, 1, 0], "port")
        config["ranks"]["listen"] = "192.0.2.7:29500"
        ended = millrace_process.serve_to_end(config)
        self.assertNotEqual(0, ended.code)
        self.assertIn("ranks: cannot listen on 192.0.2.7:29500: this host does not have that address",
                      ended.output)
        self.assertNotIn("measuring", ended.output)



if __name__ == "__main__":
    unittest.main()
