"""What a stream of one camera learns, by the network and the weights that it has by default, beside OpenCV's DIS."""

import json
import pathlib
import tempfile
import unittest

from millrace_testing.millrace_process import ROOT, run

START = ROOT / "samples/weights/refine-start.safetensors"
STREET = ROOT / ".deps/video/vtest.avi"


class FlowQualityTest(unittest.TestCase):
    def evaluate(self, *arguments):
        """The figures of the learner and of DIS, window by window."""
        with tempfile.TemporaryDirectory(prefix="millrace-quality.") as folder:
            result = run("evaluate", "flow", *(str(argument) for argument in arguments), "--weights", str(START),
                         "--learning-rate", "1e-4", "--references", "dis", "--no-frozen", "--no-plots", "--out", folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads((pathlib.Path(folder) / "evaluation.json").read_text())
        return report["runs"][0]["model"]["windows"], report["references"][0]["windows"]

    def test_on_the_street_its_loss_is_below_that_of_dis(self):
        of_model, of_dis = self.evaluate(STREET, "--pairs", 300, "--window", 10)
        self.assertEqual(len(of_model), 3)
        for model, dis in zip(of_model, of_dis, strict=True):
            self.assertLess(model["loss_ratio"], dis["loss_ratio"], model)

    def test_on_a_generated_stream_its_error_is_below_that_of_dis(self):
        of_model, of_dis = self.evaluate("generated", "--first-seed", 21, "--pairs", 250, "--window", 5)
        for model, dis in zip(of_model, of_dis, strict=True):
            self.assertLess(model["epe"], dis["epe"], model)
            self.assertLess(model["epe"], 0.18)
            self.assertLess(model["ause"], 0.3, "its uncertainty finds the errors: chance has 1")


if __name__ == "__main__":
    unittest.main()
