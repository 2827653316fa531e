"""`millrace bench`: a tiny run has every row; impossible measurements are refused."""

import json
import pathlib
import tempfile
import unittest

from millrace_testing.millrace_process import run

NETWORKS = ["conv", "conv_pool", "flow", "unet_portals", "unet_carried"]
SCHEDULES = ["sequential", "partime", "gpipe"]
OTHERS = ["one_f_one_b_star", "one_f_one_b_one_w", "recompute", "stale", "local", "pipedream", "pipedream_2bw", "timeprest",
          "k_periodic", "interleaved", "delayed"]  # fmt: skip
BASELINES = ["LibTorch, 1 thread", "LibTorch, all threads"]
TINY = ("--size", "32x16", "--layers", "4", "--channels", "4", "--samples", "4", "--turns", "1")


class BenchTest(unittest.TestCase):
    def assert_refused(self, *arguments, says):
        result = run("bench", *arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        for part in says:
            self.assertIn(part, result.stderr)

    def test_a_tiny_run_has_a_row_for_every_combination(self):
        with tempfile.TemporaryDirectory(prefix="millrace-bench.") as folder:
            path = pathlib.Path(folder) / "bench.json"
            result = run("bench", *TINY, "--networks", ",".join(NETWORKS), "--stages", "1,2",
                         "--schedules", ",".join(SCHEDULES), "--json", str(path))  # fmt: skip
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(path.read_text())
        expected = []
        for network in NETWORKS:
            expected += [(network, baseline, 0) for baseline in [*BASELINES, "LibTorch, 2 copies"]]
            expected += [(network, s, stages) for stages in (1, 2) for s in SCHEDULES]
        rows = report["rows"]
        self.assertEqual([(r["network"], r["schedule"], r["stages"]) for r in rows], expected)
        for row in rows:
            self.check_row(row)
            self.assertIn(row["schedule"], result.stdout)
        self.assertIn("load average", result.stdout)
        self.assertGreater(report["conditions"]["cores"], 0)

    def test_every_schedule_can_be_measured(self):
        result = run("bench", *TINY, "--networks", "conv", "--schedules", ",".join(OTHERS))
        self.assertEqual(result.returncode, 0, result.stderr)
        for schedule in OTHERS:
            self.assertIn(schedule, result.stdout)

    def test_a_gpu_that_is_not_there_is_refused_with_the_reason(self):
        result = run("bench", *TINY, "--device", "cuda:100")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        self.assertRegex(result.stderr, "NVIDIA|cuda:100")
        self.assert_refused("--device", "gpu", says=["use cpu, cuda"])

    def check_row(self, row):
        for figure in ("samples_per_second", "ratio", "delay_ms", "cpu_ms_per_sample"):
            self.assertGreaterEqual(row[figure]["median"], 0, row)
            self.assertEqual(len(row[figure]["turns"]), 1)
        self.assertGreater(row["samples_per_second"]["least"], 0)
        if row["stages"] == 0:
            self.assertIsNone(row["idle"])
        else:
            self.assertTrue(0 <= row["idle"]["median"] <= 1, row)
            self.assertEqual(len(row["cuts"]), row["stages"] - 1)
        if row["schedule"] == BASELINES[0]:
            self.assertEqual(row["ratio"]["median"], 1)

    def test_unknown_names_are_answered_with_those_that_there_are(self):
        self.assert_refused("--networks", "gpt", says=["gpt", "conv_pool", "unet_carried"])
        self.assert_refused("--schedules", "magic", says=["magic", "partime", "gpipe"])
        self.assert_refused("--optimizer", "lion", says=["lion", "adamw"])

    def test_what_does_not_fit_is_refused_before_anything_runs(self):
        self.assert_refused("--size", "8", says=["at least 16x16"])
        self.assert_refused("--size", "big", says=["--size big", "192x128"])
        self.assert_refused("--networks", "conv", "--layers", "2", "--stages", "3", says=["1 to 2"])
        self.assert_refused("--schedules", "hybrid", says=["stale", "sequential"])
        self.assert_refused("--turns", "0", says=["--turns"])


if __name__ == "__main__":
    unittest.main()
