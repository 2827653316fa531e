"""A server that is killed again and again, at times drawn at random, loses no complete checkpoint."""

import os
import pathlib
import random
import re
import signal
import subprocess
import tempfile
import time
import unittest

import millrace_process
from debian_pytorch import in_pytorch

KILLS = int(os.environ.get("MILLRACE_TEST_KILLS", "20"))
RESUMED = re.compile(r"where it ended after (\d+) frames")
# So small that checkpoints, for which weights must prove good over a hundred frames, come several times a
# second. It begins with no motion.
NETWORK = """
import torch
network = torch.nn.Sequential(torch.nn.Conv2d(6, 4, 3, padding=1), torch.nn.Conv2d(4, 2, 3, padding=1))
torch.nn.init.zeros_(network[1].weight)
torch.nn.init.zeros_(network[1].bias)
torch.jit.script(network).save('{path}')"""
# What to wait for before a kill: how far the checkpoint has come that is written next, or the one after it.
MOMENTS = ("its folder", "stage-1.safetensors", "stage-2.safetensors", "manifest.json")


class KillsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        self.stream = self.folder / "street"
        in_pytorch(NETWORK.format(path=self.folder / "small.pt"))
        self.random = random.Random(2)
        self.halves = 0  # Checkpoints that a kill left half written.

    def configuration(self) -> dict:
        return millrace_process.config(
            streams=[millrace_process.test_stream("street", frames_per_second=1000)],
            model={"input": [64, 64], "network": str(self.folder / "small.pt")},
            checkpoints={"folder": str(self.folder), "every": 1})

    def complete(self) -> int:
        """The frames behind the newest checkpoint that has its last file; 0: there is none."""
        found = [path.parent.name for path in self.stream.glob("checkpoint-*/manifest.json")]
        return 1 + max((int(name.removeprefix("checkpoint-")) for name in found), default=-1)

    def wait_for(self, moment: str, newer_than: int, process: subprocess.Popen) -> None:
        def has_come() -> bool:
            self.assertIsNone(process.poll(), "it ended by itself")
            return self.has_come(moment, newer_than)

        # A checkpoint is written within milliseconds.
        millrace_process.wait_for(moment, has_come, pause_s=0.0005)

    def has_come(self, moment: str, newer_than: int) -> bool:
        for folder in self.stream.glob("checkpoint-*"):
            newer = int(folder.name.removeprefix("checkpoint-")) + 1 > newer_than
            if newer and (moment == MOMENTS[0] or (folder / moment).exists()):
                return True
        return False

    def run_until_killed(self) -> tuple[int, int]:
        """Returns after how many frames the server said that it goes on, and how many were behind a
        complete checkpoint just before it was killed."""
        with millrace_process.start(self.configuration()) as (process, _):
            server = millrace_process.stands(process)
            begun = RESUMED.search("".join(server.output))
            for _ in range(self.random.choice((0, 1, 1, 2))):
                self.wait_for(self.random.choice(MOMENTS), self.complete(), process)
            time.sleep(self.random.choice((0, 0, 0.001, 0.005, 0.05)))
            complete = self.complete()
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.halves += len([folder for folder in self.stream.glob("checkpoint-*")
                            if not (folder / "manifest.json").exists()])
        return int(begun[1]) if begun else 0, complete

    def test_no_kill_loses_a_complete_checkpoint(self):
        expected = 0
        for kill in range(KILLS):
            with self.subTest(kill=kill):
                begun, complete = self.run_until_killed()
                self.assertEqual(begun, expected, "the newest that was complete")
                self.assertGreaterEqual(complete, begun)
                expected = self.complete()
                self.assertGreaterEqual(expected, complete)
        self.assertGreater(expected, 15 * KILLS, "it hardly got to write")
        self.assertGreater(self.halves, 0, "no kill came while something was written")
        print(f"{KILLS} kills, {self.halves} amid a checkpoint; {expected} frames learned from")


if __name__ == "__main__":
    unittest.main(verbosity=2)
