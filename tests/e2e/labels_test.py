"""A client that labels frames by their numbers teaches a camera's model."""

import collections
import itertools
import json
import pathlib
import subprocess
import tempfile
import unittest
import urllib.request

import grpc
from millrace.v1 import (label_service_pb2, label_service_pb2_grpc, prediction_service_pb2,
                         prediction_service_pb2_grpc)

import labelled_video
from millrace_testing import client, millrace_process

NAMES = ["zero", "one", "two", "three"]
FRAMES = 6000
FRAMES_PER_SECOND = 50
WINDOW = 256
LATE = 5  # The number of predictions from a frame's own to its label.
SCORED = 100  # Predictions that an accuracy is taken over.
ENOUGH = 0.8  # Chance is a quarter.

ADDED = label_service_pb2.LABEL_RESULT_ADDED
TOO_LATE = label_service_pb2.LABEL_RESULT_TOO_LATE


class LabelsTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="millrace.")))
        samples = labelled_video.digits(len(NAMES))
        shown = [samples[i % len(samples)] for i in range(FRAMES)]
        self.classes = [digit for _, digit in shown]
        labelled_video.write_avi(self.folder / "digits.avi",
                                 [labelled_video.grey_picture(values) for values, _ in shown],
                                 FRAMES_PER_SECOND)

    def configuration(self, **model) -> dict:
        return millrace_process.config(
            checkpoints={"folder": str(self.folder / "kept")},
            model={"input": [8, 8], "layers": 3, "width": 32, "window": WINDOW, "learning_rate": 0.001,
                   **model},
            schedule={},  # As users have it: a plan for the video's rate.
            streams=[{"name": "digits", "source": {"uri": str(self.folder / "digits.avi"),
                                                   "as_camera": True}}])

    def connect(self, server: millrace_process.Server):
        channel = self.enterContext(grpc.insecure_channel(server.grpc))
        self.labels = label_service_pb2_grpc.LabelServiceStub(channel)
        self.predictions = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        return (message.prediction for message in self.predictions.Subscribe(
            prediction_service_pb2.SubscribeRequest(), timeout=millrace_process.PATIENCE_S))

    def add(self, *labels: dict) -> list:
        request = label_service_pb2.AddLabelsRequest(
            stream="digits", labels=[label_service_pb2.FrameLabel(**label) for label in labels])
        return self.labels.AddLabels(request).outcomes

    def test_late_labels_of_half_the_frames_teach_the_classes_of_the_other_half(self):
        with millrace_process.serve(self.configuration(task="classification", classes=NAMES)) as server:
            self.assertIn("4 classes from labels at 8x8", "".join(server.output))
            self.assertGreaterEqual(self.teach(self.connect(server)), ENOUGH)
            self.see_what_is_refused()
            self.see_what_is_shown(server)
        labels = server.summary["streams"][0]["labels"]
        self.assertGreater(labels["accuracy"], 0.3)
        self.assertGreater(labels["outcomes"]["added"], SCORED // 2)
        self.assertIn("% right", "".join(server.output))
        self.see_that_it_was_kept()

    def frames_before(self) -> int:
        """The number at which the next process goes on: there the video begins again."""
        newest = max(self.folder.glob("kept/digits/checkpoint-*/manifest.json"),
                     key=lambda path: int(path.parent.name.removeprefix("checkpoint-")))
        return int(json.loads(newest.read_text())["facts"]["frames"])

    def see_that_it_was_kept(self):
        begin = self.frames_before()
        with millrace_process.serve(self.configuration(task="classification", classes=NAMES)) as server:
            self.assertRegex("".join(server.output), r"window \d+, from .*/kept/digits/checkpoint-")
            right = 0
            for prediction in itertools.islice(self.connect(server), SCORED):
                self.assertEqual(prediction.labelled, 0)
                right += prediction.best_class == self.classes[prediction.frame_number - begin]
            self.assertGreaterEqual(right, (ENOUGH - 0.1) * SCORED)
        self.see_that_its_weights_go_out_and_come_in()

    def see_that_its_weights_go_out_and_come_in(self):
        configuration = self.configuration(task="classification", classes=NAMES)
        written, weights = self.folder / "digits.yaml", self.folder / "digits.pt"
        written.write_text(json.dumps(configuration))  # JSON is YAML.
        result = subprocess.run([millrace_process.program(), "export", "--config", str(written),
                                 "--output", str(weights)], text=True, capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"6 tensors of .*/kept/digits/checkpoint-")
        configuration["checkpoints"] = {"folder": str(self.folder / "anew")}
        configuration["model"]["weights"] = str(weights)
        with millrace_process.serve(configuration) as server:
            right = sum(prediction.best_class == self.classes[prediction.frame_number]
                        for prediction in itertools.islice(self.connect(server), SCORED))
        self.assertGreaterEqual(right, (ENOUGH - 0.1) * SCORED)

    def teach(self, predictions) -> float:
        """Labels even frames, late, until odd ones are predicted well. Returns how well."""
        late = collections.deque()
        right = collections.deque(maxlen=SCORED)
        for prediction in predictions:
            number = prediction.frame_number
            self.assertFalse(prediction.HasField("flow"))
            self.assertEqual(list(prediction.outputs.shape), [len(NAMES)])
            self.assertEqual(prediction.best_class_name, NAMES[prediction.best_class])
            if number % 2:
                right.append(prediction.best_class == self.classes[number])
            else:
                late.append(number)
            if len(late) > LATE:
                taught = late.popleft()
                (outcome,) = self.add({"frame_number": taught,
                                       "class_name": NAMES[self.classes[taught]]})
                # A loaded machine may be slow to send it.
                self.assertIn(outcome.result, (ADDED, TOO_LATE), outcome.message)
            if len(right) == SCORED and sum(right) >= ENOUGH * SCORED:
                break
        return sum(right) / SCORED

    def see_what_is_refused(self):
        request = prediction_service_pb2.GetLatestRequest()

        def newest_frame() -> int:
            return self.predictions.GetLatest(request).prediction.frame_number

        # The window counts what the model took in: where frames are dropped it reaches back further.
        oldest = {"frame_number": 0, "class_name": NAMES[self.classes[0]]}
        millrace_process.wait_for("frame 0 to leave the window",
                                  lambda: self.add(oldest)[0].result == TOO_LATE)
        newest = newest_frame()
        outcomes = self.add(
            {"frame_number": newest + 100_000, "class_number": 1},
            {"frame_number": -1, "class_number": 1},
            {"frame_number": newest, "class_number": 4},
            {"frame_number": newest, "class_name": "four"},
            {"frame_number": newest, "values": label_service_pb2.LabelValues(values=[1.5])},
            oldest,
            {"frame_number": newest, "class_number": 3},
            {"frame_number": newest, "class_number": 2})
        name = label_service_pb2.LabelResult.Name
        self.assertEqual([name(outcome.result).removeprefix("LABEL_RESULT_") for outcome in outcomes],
                         ["UNKNOWN_FRAME", "UNKNOWN_FRAME", "INVALID", "INVALID", "INVALID", "TOO_LATE",
                          "ADDED", "ALREADY_LABELLED"])
        self.assertEqual([outcome.frame_number for outcome in outcomes[:2]], [newest + 100_000, -1])
        self.assertIn("has not come", outcomes[0].message)
        self.assertIn("use one of: zero, one, two, three", outcomes[3].message)
        self.assertIn("is the oldest that can still be labelled", outcomes[5].message)
        with self.assertRaises(grpc.RpcError) as refused:
            self.labels.AddLabels(label_service_pb2.AddLabelsRequest(stream="letters"))
        self.assertEqual(refused.exception.code(), grpc.StatusCode.NOT_FOUND)

    def see_what_is_shown(self, server: millrace_process.Server):
        scrape = client.get(server.metrics)[1]
        self.assertRegex(scrape, r'millrace_pipeline_predictions_scored_total{stream="digits"} [1-9]')
        self.assertRegex(scrape,
                         r'millrace_service_labels_lost_total{stream="digits",reason="other"} [1-9]')
        self.assertRegex(scrape, r'millrace_pipeline_predictions_right_total{stream="digits"} [1-9]')
        (stream,) = json.loads(client.get(f"{server.page}/api/streams")[1])["streams"]
        self.assertEqual(stream["learner"]["labels"]["names"], NAMES)
        self.assertEqual(len(stream["newest"]["outputs"]), len(NAMES))
        with urllib.request.urlopen(f"{server.page}/streams/digits/picture.jpg") as picture:
            self.assertEqual(picture.headers["Content-Type"], "image/jpeg")
        self.assertEqual(client.get(f"{server.page}/streams/digits/flow.jpg")[0], 404)

    def test_values_are_learned_too(self):
        mean = sum(self.classes) / FRAMES
        variance = sum((digit - mean) ** 2 for digit in self.classes) / FRAMES
        with millrace_process.serve(self.configuration(task="regression", outputs=1)) as server:
            errors = collections.deque(maxlen=SCORED)
            for prediction in self.connect(server):
                self.assertFalse(prediction.HasField("best_class"))
                (value,) = memoryview(prediction.outputs.data).cast("f")
                truth = self.classes[prediction.frame_number]
                errors.append((value - truth) ** 2)
                self.add({"frame_number": prediction.frame_number,
                          "values": label_service_pb2.LabelValues(values=[truth])})
                if len(errors) == SCORED and sum(errors) < SCORED * variance / 2:
                    break
            self.assertEqual(len(errors), SCORED)
            self.assertLess(sum(errors), SCORED * variance / 2)
        self.assertIn("squared error", "".join(server.output))


if __name__ == "__main__":
    unittest.main(verbosity=2)
