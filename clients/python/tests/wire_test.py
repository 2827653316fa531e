"""The client's enums equal the protos', and tolerate new values."""

import math
import unittest

import millrace
from millrace.v1 import (label_service_pb2, learner_service_pb2, prediction_pb2,
                         prediction_service_pb2, stream_pb2, stream_service_pb2)
from millrace._wire import explained_share

ENUMS = {
    millrace.DropReason: stream_pb2.DropReason,
    millrace.EventKind: stream_service_pb2.StreamEventKind,
    millrace.Flag: prediction_pb2.PredictionFlag,
    millrace.LabelKind: stream_pb2.LabelKind,
    millrace.LabelResult: label_service_pb2.LabelResult,
    millrace.LearnerState: stream_pb2.LearnerState,
    millrace.OverloadKind: stream_pb2.OverloadKind,
    millrace.Policy: prediction_service_pb2.DeliveryPolicy,
    millrace.SourceState: stream_pb2.SourceState,
    millrace.UpdatePolicyKind: learner_service_pb2.UpdatePolicyKind,
}


def without_prefix(wire) -> dict[str, int]:
    """The values' names as in the client: without the UNSPECIFIED value's prefix."""
    prefix = wire.Name(0).removesuffix("UNSPECIFIED")
    return {name.removeprefix(prefix): number for name, number in wire.items()}


class EnumsTest(unittest.TestCase):
    def test_have_the_values_of_the_protos(self):
        for enum, wire in ENUMS.items():
            with self.subTest(enum.__name__):
                self.assertEqual({each.name: each.value for each in enum}, without_prefix(wire))

    def test_a_number_that_is_not_known_yet_is_unspecified(self):
        for enum in ENUMS:
            self.assertIs(enum(99), enum.UNSPECIFIED)

    def test_are_printed_by_their_names(self):
        state = millrace.SourceState.BACKING_OFF
        self.assertEqual(str(state), "BACKING_OFF")
        self.assertEqual(f"{state}|{state:<12}|", "BACKING_OFF|BACKING_OFF |")
        self.assertEqual(f"{millrace.SourceState(99)}", "UNSPECIFIED")

    def test_what_is_no_number_is_an_error(self):
        with self.assertRaises(ValueError):
            millrace.Policy("latest")


class ExplainedShareTest(unittest.TestCase):
    def test_is_in_percent_and_none_where_no_motion_is_the_better_guess(self):
        for loss, share in ((0, "100 %"), (0.74, "26 %"), (1, "0 %"), (1.004, "0 %"),
                            (1.006, "none"), (7, "none")):
            with self.subTest(loss):
                self.assertEqual(explained_share(loss, 1), f"explains {share} of the motion")

    def test_is_empty_where_there_is_nothing_to_compare(self):
        for losses in ((0.5, 0), (math.nan, 1), (math.inf, 1), (math.inf, math.inf), (1, math.nan)):
            with self.subTest(losses):
                self.assertEqual(explained_share(*losses), "")


if __name__ == "__main__":
    unittest.main()
