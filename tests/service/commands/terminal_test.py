"""The output of long work on a terminal and elsewhere: bars, remaining time, colours."""

import json
import os
import pathlib
import tempfile
import unittest

from millrace_testing import millrace_process, terminal


class TerminalTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-terminal.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def config(self, **keys):
        path = self.folder / "millrace.yaml"
        path.write_text(json.dumps(millrace_process.config(**keys)))
        return str(path)

    def assert_bar(self, seen, done, columns=80):
        """A line that rewrites itself, ends at `done` and never wraps, with the time left on its way."""
        self.assertEqual(seen.code, 0, seen.shown)
        self.assertFalse(seen.coloured, seen.shown)
        bars = [line for line in seen.rewritten if " of " in line]
        self.assertTrue(any("left" in line for line in bars), bars)
        self.assertTrue(any(done in line for line in bars), bars)
        for line in bars:
            self.assertLess(len(line), columns)

    def test_pretrain_has_a_bar_below_its_reports(self):
        for columns in (80, 40):
            with self.subTest(columns=columns):
                output = self.folder / "w.safetensors"
                seen = terminal.run(
                    "pretrain", "--frames", "30", "--width", "64", "--height", "64",
                    "--report-every", "10", "--output", str(output), columns=columns)  # fmt: skip
                self.assert_bar(seen, "30 of 30 frames", columns)
                reports = [line for line in seen.screen if "of the motion" in line]
                self.assertEqual([line.split()[0] for line in reports], ["10", "20", "30"])
                self.assertFalse([line for line in seen.screen if "left" in line], "it stayed")
                self.assertIn("wrote", seen.screen[-2])

    def test_bench_counts_turns(self):
        seen = terminal.run(
            "bench", "--size", "32x16", "--layers", "4", "--channels", "4", "--samples", "4",
            "--turns", "2", "--networks", "conv,conv_pool", "--stages", "1,2",
            "--schedules", "sequential,partime")  # fmt: skip
        # Two baselines, two copies at once, and two schedules with one stage and with two.
        self.assert_bar(seen, f"{2 * 2 * 7} of {2 * 2 * 7} turns")
        self.assertIn("partime", seen.shown)

    def test_evaluate_flow_counts_pairs(self):
        seen = terminal.run("evaluate", "flow", "generated", "--size", "64x64", "--window", "0.2",
                            "--pairs", "8", "--references", "none", "--no-frozen")  # fmt: skip
        self.assert_bar(seen, "16 of 16 pairs")  # With those of no motion.
        self.assertIn("loss ratio", seen.shown)

    def test_plan_has_a_bar_while_it_measures(self):
        seen = terminal.run("plan", "--config", self.config())
        self.assert_bar(seen, "32 of 32 samples")
        self.assertFalse([line for line in seen.screen if "samples measured" in line], "it stayed")

    def test_serve_says_how_long_until_its_end(self):
        for columns in (100, 40):
            with self.subTest(columns=columns):
                seen = terminal.run("serve", "--config", self.config(), "--frames", "45",
                                    columns=columns)
                self.assertEqual(seen.code, 0, seen.shown)
                bars = [line for line in seen.rewritten if " of 45 frames" in line]
                self.assertTrue(any("left" in line for line in bars), bars)
                for line in bars:
                    self.assertRegex(line, r"^  \[#*\.*\] \d+ of 45 frames(  |$)")
                    self.assertLess(len(line), columns)

    def test_elsewhere_nothing_is_rewritten_or_coloured(self):
        path = self.config()
        for arguments in (("serve", "--config", path, "--frames", "20"), ("plan", "--config", path)):
            result = millrace_process.run(*arguments)
            self.assertEqual(result.returncode, 0, result.stderr)
            for text in (result.stdout, result.stderr):
                self.assertNotIn("\x1b", text)
                self.assertNotIn("\r", text)

    def test_the_log_has_colours_on_a_terminal_unless_NO_COLOR_says_so(self):
        arguments = ("serve", "--config", self.config(), "--frames", "5", "--no-progress")
        for value, coloured in ((None, True), ("", True), ("1", False), ("0", False)):
            environment = {key: text for key, text in os.environ.items() if key != "NO_COLOR"}
            if value is not None:
                environment["NO_COLOR"] = value
            with self.subTest(NO_COLOR=value):
                seen = terminal.run(*arguments, env=environment)
                self.assertEqual(seen.code, 0, seen.shown)
                self.assertIn("measuring how fast", seen.shown)
                self.assertEqual(seen.coloured, coloured, seen.shown)


if __name__ == "__main__":
    unittest.main()
