"""Labels name frames by number, and each has an outcome."""

import unittest

import millrace
from millrace_testing import fake_server
import numpy as np


class LabelsTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        self.client = self.enterContext(millrace.Client(self.server.address))

    def sent(self) -> list:
        return [label for request in self.server.requests["AddLabels"] for label in request.labels]

    def test_each_has_an_outcome(self):
        taken, refused = self.client.add_labels("door", {2: "open", 3: "shut"})
        self.assertEqual((taken.frame_number, taken.added, taken.message), (2, True, ""))
        self.assertEqual((refused.frame_number, refused.added), (3, False))
        self.assertEqual((refused.result, refused.message),
                         (millrace.LabelResult.TOO_LATE, "it is odd"))
        self.assertEqual(self.server.requests["AddLabels"][0].stream, "door")

    def test_are_classes_by_number_or_name(self):
        self.client.add_labels("door", {0: 1, 2: np.int64(3), 4: "open"})
        self.assertEqual([label.class_number for label in self.sent()][:2], [1, 3])
        self.assertEqual(self.sent()[2].class_name, "open")

    def test_are_values_of_any_sequence(self):
        self.client.add_labels("door", {0: [0.5, 1], 2: np.float32([2, 3]), 4: (4.0,)})
        self.assertEqual([list(label.values.values) for label in self.sent()],
                         [[0.5, 1], [2, 3], [4]])

    def test_frames_may_be_numbered_by_numpy(self):
        self.client.add_labels("door", {np.int64(2): "open"})
        self.assertEqual(self.sent()[0].frame_number, 2)

    def test_more_than_the_server_takes_at_once_go_in_turns(self):
        outcomes = self.client.add_labels("door", {number: 0 for number in range(5000)})
        self.assertEqual([outcome.frame_number for outcome in outcomes], list(range(5000)))
        self.assertEqual([len(request.labels) for request in self.server.requests["AddLabels"]],
                         [4096, 904])

    def test_none_are_no_call(self):
        self.assertEqual(self.client.add_labels("door", {}), [])
        self.assertEqual(self.sent(), [])


if __name__ == "__main__":
    unittest.main()
