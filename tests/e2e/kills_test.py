"""A server that is killed again and again, at random times, starts again, resumes with its learned weights, loses
no complete checkpoint, and leaves nothing behind. MILLRACE_TEST_KILLS sets the number of kills.
"""

import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

import safetensors.numpy

from debian_pytorch import in_pytorch
from millrace_testing import client, millrace_process
from millrace_testing.fnv import checksum

KILLS = int(os.environ.get("MILLRACE_TEST_KILLS", "20"))
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
# One of this number of kills comes while the server starts.
AT_THE_START = 5


def tensors(file: pathlib.Path) -> dict[str, bytes]:
    """Of a safetensors file, by name."""
    return {name: tensor.tobytes() for name, tensor in safetensors.numpy.load_file(file).items()}


class KillsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        self.stream = self.folder / "street"
        in_pytorch(NETWORK.format(path=self.folder / "small.pt"))
        # As a kill leaves it that comes while the server tries whether it can write there.
        self.stream.mkdir()
        (self.stream / "manifest.json.1.tmp").touch()
        self.random = random.Random(2)
        self.halves = 0  # Checkpoints that a kill left half written.

    def configuration(self, **model) -> dict:
        return millrace_process.config(
            streams=[millrace_process.test_stream("street", frames_per_second=1000)],
            model={"input": [64, 64], "network": str(self.folder / "small.pt"), **model},
            checkpoints={"folder": str(self.folder), "every": 1})

    def newest(self) -> pathlib.Path | None:
        """The checkpoint that has its last file."""
        return max((path.parent for path in self.stream.glob("checkpoint-*/manifest.json")), default=None)

    def complete(self) -> int:
        """The frames behind it; 0: there is none."""
        newest = self.newest()
        return 0 if newest is None else 1 + int(newest.name.removeprefix("checkpoint-"))

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
            begin = time.monotonic()
            server = millrace_process.stands(process)
            self.start_s = time.monotonic() - begin
            self.assertNotIn("is damaged", "".join(server.output))
            begun = client.resumed_after("".join(server.output))
            for _ in range(self.random.choice((0, 1, 1, 2))):
                self.wait_for(self.random.choice(MOMENTS), self.complete(), process)
            time.sleep(self.random.choice((0, 0, 0.001, 0.005, 0.05)))
            complete = self.complete()
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.halves += len([folder for folder in self.stream.glob("checkpoint-*")
                            if not (folder / "manifest.json").exists()])
        return begun, complete

    def kill_at_the_start(self) -> None:
        """Within what a start takes."""
        with millrace_process.start(self.configuration()) as (process, _):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(self.random.uniform(0, self.start_s))
            self.assertIsNone(process.poll(), "it ended by itself")
            process.kill()

    def weights(self) -> dict[str, bytes]:
        """Of the newest checkpoint, without what the optimizer keeps, which changes at a rate of 0, too."""
        return {name: value for file in self.newest().glob("stage-*.safetensors")
                for name, value in tensors(file).items() if ".optimizer." not in name}

    def last_run(self) -> None:
        """Learns no more. Ends by itself as soon as it has predicted, and writes what it has."""
        before = self.weights()
        ended = millrace_process.serve_to_end(self.configuration(learning_rate=0), "--frames", "300")
        self.assertEqual(ended.code, 0, ended.output)
        self.assertEqual(self.weights(), before, "it goes on with what it had learned")

    def judge_the_folder(self) -> None:
        """Every checkpoint is whole, and there is nothing else."""
        for folder in self.stream.glob("checkpoint-*"):
            stages = json.loads((folder / "manifest.json").read_text())["stages"]
            self.assertEqual({path.name for path in folder.iterdir()},
                             {"manifest.json", *(stage["file"] for stage in stages)})
            for stage in stages:
                content = (folder / stage["file"]).read_bytes()
                self.assertEqual((len(content), checksum(content)), (stage["bytes"], stage["checksum"]))
        others = [path.name for path in self.stream.iterdir() if not path.name.startswith("checkpoint-")]
        self.assertEqual(others, [])

    def test_no_kill_loses_a_complete_checkpoint(self):
        expected = 0
        for kill in range(KILLS):
            if kill % AT_THE_START == AT_THE_START - 1:
                self.kill_at_the_start()
                self.assertGreaterEqual(self.complete(), expected)
                expected = self.complete()
                continue
            with self.subTest(kill=kill):
                begun, complete = self.run_until_killed()
                self.assertEqual(begun, expected, "the newest that was complete")
                self.assertGreaterEqual(complete, begun)
                expected = self.complete()
                self.assertGreaterEqual(expected, complete)
        self.last_run()
        self.judge_the_folder()
        self.assertGreater(expected, 12 * KILLS, "it hardly got to write")
        self.assertGreater(self.halves, 0, "no kill came while something was written")
        print(f"{KILLS} kills, {self.halves} amid a checkpoint; {expected} frames learned from")


if __name__ == "__main__":
    unittest.main(verbosity=2)
