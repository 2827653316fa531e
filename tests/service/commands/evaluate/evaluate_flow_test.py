"""`millrace evaluate flow`: a tiny evaluation has all its files; impossible evaluations are refused."""

import json
import pathlib
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

from millrace_testing.millrace_process import PATIENCE_S, ROOT, end, program, run

SIDE = 64
TINY = ("--size", f"{SIDE}x{SIDE}", "--window", "0.2", "--networks", "flow")


def ppm(shift: int, side: int = SIDE) -> bytes:
    """Soft stripes that have moved this number of pixels to the right."""
    pixels = bytearray()
    for y in range(side):
        for x in range(side):
            pixels += bytes([(x - shift) * 11 % 60 + 40, (x - shift + y) * 7 % 90, y * 3 % 200])
    return b"P6 %d %d 255\n" % (side, side) + bytes(pixels)


def flo(dx: float, dy: float, side: int = SIDE) -> bytes:
    """A .flo file that says the same everywhere."""
    return struct.pack("<fii", 202021.25, side, side) + struct.pack("<ff", dx, dy) * side * side


class EvaluateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-evaluate.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def evaluate(self, *arguments):
        return run("evaluate", "flow", *(str(argument) for argument in arguments))

    def assert_refused(self, *arguments, says):
        result = self.evaluate(*arguments)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        for part in says:
            self.assertIn(part, result.stderr)

    def stream(self, pictures=5):
        """A folder of pictures that move by two pixels each, and one of what is true of them."""
        (self.folder / "pictures").mkdir()
        (self.folder / "truth").mkdir()
        for i in range(pictures):
            (self.folder / "pictures" / f"{i:04}.ppm").write_bytes(ppm(2 * i))
        for i in range(pictures - 1):
            (self.folder / "truth" / f"{i:04}.flo").write_bytes(flo(2, 0))
        return self.folder / "pictures", self.folder / "truth"

    def test_help_has_an_example(self):
        overview = run("evaluate", "--help")
        self.assertEqual(overview.returncode, 0)
        self.assertIn("flow", overview.stdout)
        result = run("evaluate", "flow", "--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("Examples", result.stdout)
        self.assertIn("millrace evaluate flow generated", result.stdout)

    def test_a_generated_stream_is_evaluated_into_files(self):
        out = self.folder / "made" / "here"
        result = self.evaluate("generated", *TINY, "--pairs", 8, "--schedules",
                               "sequential,partime", "--stages", 2, "--seeds", 2,
                               "--camera-rates", "5,500", "--step-ms", 40, "--out", out)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ("While it learns", "At every instant", "no longer learning", "EPE px", "±",
                     "flow partime x2 at 500/s", "dis", "farneback"):  # fmt: skip
            self.assertIn(part, result.stdout)
        self.assertEqual((out / "tables.txt").read_text(), result.stdout)
        if result.stderr:  # A run of less than two seconds shows no progress.
            self.assertIn("100 %", result.stderr)
        report = json.loads((out / "evaluation.json").read_text())
        self.assertEqual([clip["pairs"] for clip in report["clips"]], [8, 8])
        self.assertEqual(len(report["runs"]), 2 * 2 * 2)
        self.assertEqual(len(report["references"]), 3 * 2)
        self.assertIn("evaluate flow generated", report["command"])
        for one in report["runs"]:
            self.check_run(one)
        for name in ("loss_ratio", "epe", "loss_ratio_by_rate", "epe_by_rate"):
            self.assertTrue((out / f"{name}.gp").exists())
            root = xml.etree.ElementTree.parse(out / f"{name}.svg").getroot()
            self.assertTrue(root.tag.endswith("svg"), root.tag)

    def check_run(self, one):
        self.assertEqual(one["step_ms"], 40)
        self.assertEqual(one["pairs"], 8)
        self.assertEqual(one["model"]["whole"]["pairs"], 8 - one["dropped"])
        self.assertEqual(one["streaming"]["whole"]["pairs"], 8)
        windows = one["streaming"]["windows"]
        self.assertEqual(sum(window["pairs"] for window in windows), 8)
        self.assertEqual([window["start_s"] for window in windows], [0.04, 0.24])
        self.assertEqual([test["on"] for test in one["frozen"]], ["first", "last"])
        first = one["frozen"][0]
        self.assertAlmostEqual(first["forgetting"],
                               first["loss_ratio"] - first["right_after"]["loss_ratio"])  # fmt: skip
        self.assertAlmostEqual(first["initial"]["loss_ratio"], 1)  # Cold it starts at no motion.
        self.assertEqual(len(one["staleness"]), one["stages"])
        if one["camera_rate"] == 5:
            self.assertEqual(one["dropped"], 0)
            self.assertEqual(len(one["update_cosines"]), one["stages"])
            for cosine in one["update_cosines"]:
                self.assertLessEqual(abs(cosine), 1)
        else:
            self.assertGreater(one["dropped"], 0)

    def test_a_camera_runs_in_real_time(self):
        out = self.folder / "made"
        result = self.evaluate("generated", *TINY, "--pairs", 8, "--no-frozen", "--no-plots", "--references", "none",
                               "--camera-rates", "20,5e5", "--real-time", "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("At every instant of this machine's clock", result.stdout)
        slow, fast = json.loads((out / "evaluation.json").read_text())["runs"]
        for one in (slow, fast):
            self.assertTrue(one["real_time"])
            self.assertNotIn("step_ms", one)
            self.assertEqual(one["streaming"]["whole"]["pairs"], 8)
            self.assertEqual(one["model"]["whole"]["pairs"], 8 - one["dropped"])
        self.assertGreater(fast["dropped"], 0)
        for options, why in ((["--real-time"], "name the camera's rates"),
                             (["--real-time", "--camera-rates", 5, "--jobs", 2], "one job at a time"),
                             (["--real-time", "--camera-rates", 5, "--step-ms", 9], "leave out the cost of a step"),
                             (["--real-time", "--camera-rates", 5, "--size", "1024x768", "--pairs", 999],
                              "evaluate 211 pairs or fewer")):  # fmt: skip
            refused = self.evaluate("generated", *TINY[2:], *options)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(why, refused.stderr)

    def test_optimizers_are_compared(self):
        out = self.folder / "made"
        result = self.evaluate("generated", *TINY, "--pairs", 8, "--no-frozen", "--no-plots", "--references", "none", "--out", out,
                               "--optimizers", "rmsprop,adam:0.001,sgd,sgd:1e-2", "--momentum", 0.5)
        self.assertEqual(result.returncode, 0, result.stderr)
        runs = json.loads((out / "evaluation.json").read_text())["runs"]
        optimizers = [(one["optimizer"]["kind"], one["optimizer"]["learning_rate"], one["optimizer"]["momentum"])
                      for one in runs]
        self.assertEqual(optimizers, [("rmsprop", 3e-4, 0), ("adam", 1e-3, 0), ("sgd", 3e-4, 0.5), ("sgd", 1e-2, 0.5)])
        for name in ("rmsprop", "adam:0.001", "sgd", "sgd:1e-2"):
            self.assertIn(f"flow sequential {name} ", result.stdout)
        losses = {one["model"]["whole"]["loss_ratio"] for one in runs}
        self.assertEqual(len(losses), len(runs), "each learned in its own way")
        alone = self.evaluate("generated", *TINY, "--pairs", 8, "--no-frozen", "--references", "none", "--optimizer", "adam",
                              "--learning-rate", 0.001)
        row = next(line for line in alone.stdout.splitlines() if line.startswith("flow sequential"))
        self.assertIn(row.split()[2:], [line.split()[3:] for line in result.stdout.splitlines()])

    def test_a_folder_of_pictures_is_evaluated_against_its_truth(self):
        pictures, truth = self.stream()
        out = self.folder / "out"
        result = self.evaluate(pictures, "--truth", truth, *TINY, "--references", "none",
                               "--no-frozen", "--no-plots", "--out", out)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("no longer learning", result.stdout)
        self.assertEqual(sorted(file.name for file in out.iterdir()),
                         ["evaluation.json", "runs", "tables.txt"])  # fmt: skip
        report = json.loads((out / "evaluation.json").read_text())
        self.assertEqual(report["clips"][0]["name"], "pictures")
        self.assertEqual(report["clips"][0]["pairs"], 4)
        self.assertAlmostEqual(report["references"][0]["whole"]["epe"], 2)

    def test_a_list_of_pairs_is_evaluated_line_by_line(self):
        self.stream()
        listed = self.folder / "pairs.txt"
        listed.write_text("# two\npictures truth\n\"pictures\" truth 96x64\n")
        out = self.folder / "out"
        result = self.evaluate("--pairs-list", listed, *TINY, "--references", "none,dis", "--pairs", 2, "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        for line in (r"pictures 64x64 +\d", r"pictures 96x64 +\d", r"largest +\d", "of dis"):
            self.assertRegex(result.stdout, line)
        self.assertEqual((out / "tables.txt").read_text(), result.stdout)
        one, other = json.loads((out / "evaluation.json").read_text())["lines"]
        self.assertEqual((one["name"], other["name"]), ("pictures 64x64", "pictures 96x64"))
        self.assertEqual(other["clips"][0]["width"], 96)
        self.assertAlmostEqual(one["references"][0]["whole"]["epe"], 2)

    def test_pseudo_truth_is_called_so(self):
        pictures, truth = self.stream()
        result = self.evaluate(pictures, "--pseudo-truth", *TINY, "--references", "none", "--no-frozen")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"\bpseudo EPE px\b")
        self.assertNotIn("  EPE px", result.stdout)
        self.assert_refused("generated", "--pseudo-truth", says=["--pseudo-truth", "leave it out"])
        self.assert_refused(pictures, "--truth", truth, "--pseudo-truth", says=["--pseudo-truth", "leave it out"])
        self.assert_refused(pictures, "--pseudo-truth", "--others", "generated", says=["--others", "leave one"])
        self.assert_refused(pictures, "--task", "next_frame", "--pseudo-truth", says=["--task next_frame"])

    def test_a_list_of_pairs_that_is_none_is_refused(self):
        self.stream()
        listed = self.folder / "pairs.txt"
        listed.write_text("pictures truth 64x64\npictures\n")
        self.assert_refused("--pairs-list", listed, says=[f"{listed}:2", "PICTURES TRUTH"])
        self.assert_refused("--pairs-list", self.folder / "nowhere", says=["nowhere", "No such file"])
        listed.write_text("pictures truth\npictures nowhere\n")
        self.assert_refused("--pairs-list", listed, *TINY, says=[f"{listed}:2", "nowhere"])
        listed.write_text("pictures truth\n")
        self.assert_refused("generated", "--pairs-list", listed, says=["leave one of the two out"])
        for option in (("--truth", "t"), ("--hidden", "h"), ("--others", "generated"), ("--pseudo-truth",)):
            self.assert_refused("--pairs-list", listed, *option, says=["of its own", option[0]])
        self.assert_refused("--pairs-list", listed, "--task", "next_frame", says=["--task flow"])

    def test_tables_alone_need_no_folder_and_no_truth(self):
        pictures, _ = self.stream()
        result = self.evaluate(pictures, *TINY, "--pairs", 2, "--no-frozen")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("loss ratio", result.stdout)
        self.assertNotIn("EPE", result.stdout)

    def test_the_next_frame_is_scored_by_how_well_it_was_foretold(self):
        pictures, truth = self.stream()
        out = self.folder / "out"
        task = (pictures, *TINY, "--task", "next_frame")
        result = self.evaluate(*task, "--no-plots", "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("as the two before foretold it", result.stdout)
        self.assertNotIn("rec .05", result.stdout)
        report = json.loads((out / "evaluation.json").read_text())
        self.assertEqual(report["task"], "next_frame")
        self.assertEqual(report["clips"][0]["pairs"], 3)  # Of five pictures.
        self.assertEqual([one["name"] for one in report["references"]], ["none"])
        self.assertEqual(report["references"][0]["whole"]["loss_ratio"], 1)
        self.assertEqual(report["runs"][0]["model"]["whole"]["pairs"], 3)
        self.assertEqual(report["runs"][0]["frozen"][0]["pairs"], 3)
        self.assert_refused(*task, "--truth", truth, says=["--truth", "leave them out"])
        self.assert_refused(*task, "--references", "none,dis", says=["dis", "leave it out"])
        self.assert_refused(*task, "--camera-rates", "10", says=["camera", "leave out"])
        self.assert_refused(*task, "--occlusion", says=["occlusion", "leave it out"])
        self.assert_refused(*task, "--pairs", "1", says=["no three pictures"])
        self.assert_refused(pictures, "--task", "dream", says=["dream", "next_frame"])

    def test_inputs_that_cannot_be_evaluated_are_refused(self):
        pictures, truth = self.stream()
        text = self.folder / "notes.mp4"
        text.write_text("no video")
        nowhere = self.folder / "nowhere.mp4"
        self.assert_refused(nowhere, says=[str(nowhere), "no such file"])
        self.assert_refused(
            "rtsp://user:secret@camera/1", says=["rtsp://", "record it, and evaluate the file"]
        )
        self.assert_refused(truth, *TINY, says=["truth has 0 pictures", "two at least"])
        self.assert_refused("generated", "--truth", truth, says=["--truth", "folder of pictures"])
        self.assert_refused(
            ROOT / ".deps/video/vtest.avi", "--truth", truth, says=["--truth", "folder of pictures"]
        )
        self.assert_refused(pictures, "--truth", pictures, *TINY, says=["0 files for 4 pairs"])
        self.assert_refused(pictures, "--hidden", pictures, *TINY, says=["beside the true motion"])
        self.assert_refused("generated", "--others", nowhere, says=[str(nowhere), "no such file"])
        (pictures / "0002.ppm").write_text("torn")
        self.assert_refused(pictures, *TINY, says=["0002.ppm", "cannot be read as a picture"])

    def test_options_that_cannot_be_are_refused_with_what_can(self):
        self.assert_refused(says=["input"])
        self.assert_refused("generated", "--networks", "gpt", says=["gpt", "flow", "levels"])
        self.assert_refused("generated", "--schedules", "magic", says=["magic", "partime"])
        self.assert_refused("generated", "--references", "raft", says=["raft", "farneback"])
        self.assert_refused("generated", "--loss", "love", says=["love", "census"])
        self.assert_refused("generated", "--size", "big", says=["--size big", "192x144"])
        self.assert_refused("generated", "--size", "100x64", says=["100x64", "multiples of 16"])
        self.assert_refused("generated", "--size", "48x64", says=["48x64", "at least 64"])
        self.assert_refused("generated", "--stages", "0", says=["--stages", "1"])
        self.assert_refused("generated", "--seeds", "-1", says=["--seeds"])
        self.assert_refused("generated", "--first-seed", "-1", says=["--first-seed"])
        self.assert_refused("generated", "--switch-at", "-1", says=["--switch-at"])
        self.assert_refused("generated", "--window", "0", says=["--window"])
        self.assert_refused("generated", "--optimizer", "lion", says=["lion", "rmsprop, sgd, adam"])
        self.assert_refused("generated", "--optimizers", "sgd,adam:fast", says=["--optimizers adam:fast", "0.001"])
        self.assert_refused("generated", "--optimizers", "sgd,sgd", says=["--optimizers sgd", "twice"])
        self.assert_refused("generated", "--optimizers", "adam,rmsprop", "--momentum", "0.9", says=["--momentum", "sgd"])
        self.assert_refused("generated", "--optimizer", "adam", "--momentum", "0.9", says=["momentum", "sgd only"])
        self.assert_refused("generated", *TINY, "--schedules", "local", says=["levels"])
        self.assert_refused("generated", *TINY, "--stages", "99", "--schedules", "partime",
                            says=["99 stages", "ask for 1 to"])  # fmt: skip
        self.assert_refused("generated", *TINY, "--weights", "nowhere.safetensors",
                            says=["nowhere.safetensors", "millrace pretrain"])  # fmt: skip
        start = ROOT / "samples/weights/flow-start.safetensors"
        self.assert_refused("generated", *TINY, "--seeds", "2",
                            "--weights", f"{start},nowhere.safetensors",
                            says=["nowhere.safetensors", "millrace pretrain"])  # fmt: skip

    def test_without_gnuplot_it_says_so_before_it_works(self):
        result = run("evaluate", "flow", "generated", "--out", str(self.folder / "out"),
                     env={"PATH": str(self.folder)})  # fmt: skip
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("gnuplot-nox", result.stderr)
        self.assertIn("--no-plots", result.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_killed_it_continues_with_the_runs_that_are_finished(self):
        command = ["generated", *TINY, "--pairs", 40, "--schedules", "sequential,partime", "--stages", 2, "--seeds", 2,
                   "--no-plots"]
        out = self.folder / "out"
        with subprocess.Popen([program(), "evaluate", "flow", *map(str, command), "--out", out], cwd=ROOT,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and not list(out.glob("runs/flow_sequential*.json")):
                time.sleep(0.01)
            process.kill()
        finished = len(list(out.glob("runs/*.json")))
        self.assertGreaterEqual(finished, 7, "three references of two seeds, and a run")
        result = self.evaluate(*command, "--out", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"{finished} results came from {out}/runs", result.stderr)
        runs = json.loads((out / "evaluation.json").read_text())["runs"]
        self.assertEqual([(one["schedule"], one["seed"]) for one in runs],
                         [("sequential", 0), ("sequential", 1), ("partime", 0), ("partime", 1)])
        self.assertEqual(runs[2]["cuts"], runs[3]["cuts"])
        whole = self.folder / "whole"
        alone = ["generated", *TINY, "--pairs", 40, "--seeds", 2, "--no-plots", "--out", whole]
        self.assertEqual(self.evaluate(*alone).returncode, 0)
        self.assertEqual(json.loads((whole / "evaluation.json").read_text())["runs"], runs[:2])
        again = self.evaluate(*command, "--out", out)
        self.assertEqual(again.stdout, result.stdout)
        self.assertIn("10 results came", again.stderr)
        other = self.evaluate(*command, "--learning-rate", 1e-3, "--out", out)
        self.assertIn("6 results came", other.stderr, "the references alone")

    def test_interrupted_it_ends_in_good_order(self):
        for arguments in (("generated",), (ROOT / ".deps/video/vtest.avi",)):
            command = [program(), "evaluate", "flow", *map(str, arguments), "--size", "64x64",
                       "--references", "none", "--out", self.folder / "out"]  # fmt: skip
            with subprocess.Popen(
                command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                self.addCleanup(process.kill)
                # The first line says that a tenth is done, or more.
                self.assertRegex(process.stderr.readline(), r"\d+ %")
                code, _ = end(process, signal.SIGINT)
                output, errors = process.communicate(timeout=PATIENCE_S)
            self.assertEqual(code, 1, errors)
            self.assertIn("asked to end", errors)
            self.assertIn(f"continues with what is finished, in {self.folder}/out/runs", errors)
            self.assertEqual(output, "")
            self.assertFalse((self.folder / "out" / "evaluation.json").exists())


if __name__ == "__main__":
    unittest.main()
