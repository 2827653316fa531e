"""`millrace evaluate labels`: a tiny run has every row and figure; impossible runs are refused."""

import json
import pathlib
import random
import tempfile
import unittest

from millrace_testing import terminal
from millrace_testing.millrace_process import run

TINY = ("--layers", "4", "--width", "8", "--passes", "1", "--seeds", "2", "--window", "4,8",
        "--stages", "2,4", "--learning-rate", "0.05")  # fmt: skip


def write_digits(path, samples):
    """Easy ones: each class has a bright row of its own."""
    numbers = random.Random(1)
    lines = []
    for _ in range(samples):
        digit = numbers.randrange(8)
        pixels = [16 if row == digit else numbers.randrange(6) for row in range(8) for _ in range(8)]
        lines.append(",".join(map(str, [*pixels, digit])))
    path.write_text("\n".join(lines) + "\n")


class EvaluateLabelsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-labels.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.data = self.folder / "digits.csv"
        write_digits(self.data, 100)

    def evaluate(self, *arguments):
        return run("evaluate", "labels", "--data", str(self.data), *TINY, *arguments)

    def assert_refused(self, *arguments, says):
        result = self.evaluate(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertIn(says, result.stderr)

    def test_every_combination_has_a_row_and_every_seed_a_run(self):
        out = self.folder / "out.json"
        result = self.evaluate("--schedules", "sequential,partime,hybrid", "--score-every", "30",
                               "--label-delay", "2", "--out", str(out))  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(out.read_text())
        expected = [(schedule, stages, window) for window in (4, 8)
                    for schedule, stages in (("sequential", 1), ("partime", 2), ("partime", 4),
                                             ("hybrid", 2), ("hybrid", 4))]  # fmt: skip
        rows = report["rows"]
        self.assertEqual([(r["schedule"], r["stages"], r["window"]) for r in rows], expected)
        self.assertEqual(report["train_samples"] + report["test_samples"], 100)
        for row in rows:
            self.assertEqual(len(row["runs"]), 2)
            for one in row["runs"]:
                self.assertEqual(one["samples"], report["train_samples"])
                self.assertGreaterEqual(len(one["along_the_way"]), 2)
                self.assertEqual(one["labels"]["late"], one["samples"] - 1)
        self.assertEqual(rows[0]["difference"]["mean"], 0)
        self.assertIn("10 of 20:", result.stderr)
        self.assertIn("unseen %", result.stdout)

    def test_on_a_terminal_a_bar_fills_in_place_of_a_line_a_run(self):
        seen = terminal.run("evaluate", "labels", "--data", str(self.data), *TINY,
                            "--schedules", "stale")  # fmt: skip
        self.assertEqual(seen.code, 0, seen.shown)
        samples = 70 * 2 * 2 * 2  # Of two numbers of stages, two windows, two seeds.
        self.assertIn(f"100 %  {samples} of {samples} samples", seen.shown)
        self.assertTrue(any(line.endswith(" left") for line in seen.rewritten), seen.rewritten)
        self.assertNotIn("seed 0", seen.shown)
        self.assertIn("unseen %", seen.shown)

    def test_the_same_command_gives_the_same_figures(self):
        figures = []
        for name in ("a.json", "b.json"):
            result = self.evaluate("--schedules", "stale", "--out", str(self.folder / name))
            self.assertEqual(result.returncode, 0, result.stderr)
            rows = json.loads((self.folder / name).read_text())["rows"]
            figures.append([[one["test"] for one in row["runs"]] for row in rows])
        self.assertEqual(*figures)

    def test_what_is_wrong_is_named(self):
        self.assert_refused("--schedules", "fast", says="it must be one of sequential")
        self.assert_refused("--optimizer", "best", says="sgd")
        self.assert_refused("--test-share", "0", says="no sample to test on")
        self.assert_refused("--stages", "5", "--schedules", "stale", says="stages")
        self.assert_refused("--out", str(self.folder / "none/out.json"), says="out.json")
        self.data.write_text("1,2,3\n")
        self.assert_refused(says="line 1: it has 3 numbers")
        self.data.unlink()
        self.assert_refused(says="there is no file")


if __name__ == "__main__":
    unittest.main()
