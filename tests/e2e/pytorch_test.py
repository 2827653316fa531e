"""A network goes from PyTorch to Millrace, learns from a camera or from samples, and comes back."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from debian_pytorch import in_pytorch
from millrace_testing import millrace_process

NETWORK = """
import torch
torch.manual_seed(1)
network = torch.nn.Sequential(
    torch.nn.Conv2d(6, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.LeakyReLU(0.1),
    torch.nn.Conv2d(8, 2, 3, padding=1))
"""

# What docs/replay.md has a user type: Python, a shell, and the same Python again. And what it shows.
REPLAY = """
import pathlib, subprocess
begin, learn, read = (pathlib.Path(name).read_text() for name in ("begin", "learn", "read"))
exec(begin)
subprocess.run(learn, shell=True, check=True, stdout=subprocess.DEVNULL)
exec(read)
"""
SHOWN = re.compile(r"loss (\d\.\d{3}) at first, (\d\.\d{3}) at the end")


def steps_of_replay() -> tuple[list[str], str]:
    """The three blocks that a user types, and the one that shows what they print."""
    page = (millrace_process.ROOT / "docs/replay.md").read_text()
    section = page.partition("## In three steps\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "sh", "python", ""], blocks
    typed = [text for kind, text in blocks if kind]
    return typed, blocks[-1][1]


class PyTorchTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))

    def millrace(self, *arguments: str | pathlib.Path) -> subprocess.CompletedProcess:
        return subprocess.run([millrace_process.program(), *map(str, arguments)], text=True,
                              capture_output=True, check=False)

    def export(self, *arguments: str | pathlib.Path) -> None:
        result = self.millrace("export", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_network_from_pytorch_learns_and_its_weights_go_back(self):
        start, end = self.folder / "start.pt", self.folder / "end.pt"
        in_pytorch(f"{NETWORK}\ntorch.jit.script(network).save('{start}')")
        # The network's layers and ours, which puts the pictures together, are four or more.
        configuration = millrace_process.config(
            streams=[millrace_process.test_stream("gate", frames_per_second=100)],
            model={"input": [64, 64], "network": str(start), "loss": "photo_and_smooth"},
            checkpoints={"folder": str(self.folder / "kept")})
        ended = millrace_process.serve_to_end(configuration, "--frames", "50")
        self.assertEqual(ended.code, 0, ended.output)
        self.export("--network", start, "--checkpoints", self.folder / "kept/gate", "--output", end)
        learned = in_pytorch(f"""{NETWORK}
before = {{name: value.clone() for name, value in network.state_dict().items()}}
after = torch.load('{end}')
network.load_state_dict(after)  # Strict: every name, no other.
assert all(bool(value.isfinite().all()) for value in after.values())
assert network(torch.rand(1, 6, 64, 64)).shape == (1, 2, 64, 64)
print(*(name for name in after if not torch.equal(before[name], after[name])))""")
        for name in ("0.weight", "0.bias", "1.running_mean", "1.num_batches_tracked", "3.weight"):
            self.assertIn(name, learned.split())

    def test_the_example_of_replay_learns_as_it_is_shown(self):
        typed, shown = steps_of_replay()
        for name, text in zip(("begin", "learn", "read"), typed):
            (self.folder / name).write_text(text)
        (self.folder / "millrace").symlink_to(millrace_process.program())
        printed = in_pytorch(REPLAY, cwd=self.folder, env={
            **os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"})
        for text in (printed, shown.strip()):
            self.assertRegex(text, SHOWN)
            first, last = map(float, SHOWN.fullmatch(text).groups())
            self.assertLess(last, first / 2)

    def test_weights_that_pytorch_changed_are_read_back(self):
        ours, changed, again = (self.folder / name for name in ("a.pt", "b.pt", "c.pt"))
        self.export("--output", ours)
        in_pytorch(f"""
import torch
weights = torch.load('{ours}')
torch.save({{name: value * 2 + 1 for name, value in weights.items()}}, '{changed}')""")
        self.export("--weights", changed, "--output", again)
        count = in_pytorch(f"""
import torch
wanted, found = torch.load('{changed}'), torch.load('{again}')
assert wanted.keys() == found.keys()
assert all(torch.equal(wanted[name], found[name]) for name in wanted)
print(len(found))""")
        self.assertGreater(int(count), 10)

    def test_what_does_not_fit_is_named(self):
        small = self.folder / "small.pt"
        in_pytorch("import torch\n"
                   "network = torch.nn.Sequential(torch.nn.Conv2d(6, 2, 3))\n"
                   f"torch.jit.script(network).save('{small}')")
        result = self.millrace("export", "--network", small, "--output", self.folder / "out.pt")
        self.assertEqual(result.returncode, 2)
        self.assertIn("[1, 2, 142, 190]", result.stderr)
        self.assertIn("[1, 2, 144, 192] of Float, is needed", result.stderr)
        grey = self.folder / "grey.pt"
        in_pytorch("import torch\n"
                   "network = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3, padding=1))\n"
                   f"torch.jit.script(network).save('{grey}')")
        configuration = millrace_process.config(model={"input": [64, 64], "network": str(grey)})
        ended = millrace_process.serve_to_end(configuration)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("it fails on a pair of pictures, of 6 channels, 64x64", ended.output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
