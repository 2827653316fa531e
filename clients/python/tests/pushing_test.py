"""Frames are sent as pixels or images, and each gets its outcome."""

import datetime
import unittest

import grpc
import millrace
from millrace.v1 import frame_service_pb2 as messages
from millrace.v1 import picture_pb2
from millrace_testing import fake_server
import numpy as np

BLACK = np.zeros((2, 4, 3), np.uint8)


class PushingTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        self.client = self.enterContext(millrace.Client(self.server.address))

    def sent(self) -> list:
        requests = self.server.requests["Push"]
        return [request.frame for request in requests if request.HasField("frame")]

    def test_each_frame_has_an_outcome(self):
        names = ["a", "drop", "skip", "refuse", "b"]
        outcomes = list(self.client.push("door", [millrace.Frame(BLACK, name) for name in names]))
        self.assertEqual([outcome.id for outcome in outcomes], names)
        predicted, dropped, skipped, refused, last = outcomes
        self.assertEqual((predicted.frame_number, predicted.prediction.frame_number), (0, 0))
        self.assertEqual((dropped.dropped, dropped.frame_number), (millrace.DropReason.GAP, None))
        self.assertTrue(skipped.skipped)
        self.assertEqual(refused.refused, "it is no picture")
        self.assertEqual((last.dropped, last.skipped, last.refused), (None, False, ""))

    def test_the_first_request_says_where_to_and_what_comes_back(self):
        list(self.client.push("door", [BLACK], parts=millrace.Parts(outputs=True)))
        first = self.server.requests["Push"][0]
        self.assertEqual((first.stream, first.parts.outputs, first.parts.flow), ("door", True, False))
        self.assertFalse(first.HasField("frame"))

    def test_arrays_are_numbered(self):
        outcomes = list(self.client.push("", (BLACK for _ in range(3))))
        self.assertEqual([outcome.id for outcome in outcomes], ["0", "1", "2"])

    def test_pixels_are_colour_or_grey_whatever_their_strides(self):
        pixels = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        list(self.client.push("", [pixels[::2, ::-1], pixels[:, :, 0]]))
        colour, grey = [frame.raw for frame in self.sent()]
        self.assertEqual((colour.format, colour.height, colour.width),
                         (picture_pb2.PIXEL_FORMAT_RGB, 2, 4))
        self.assertEqual(colour.data, pixels[::2, ::-1].tobytes())
        self.assertEqual((grey.format, grey.data),
                         (picture_pb2.PIXEL_FORMAT_GRAY8, pixels[:, :, 0].tobytes()))

    def test_an_image_goes_as_it_is(self):
        list(self.client.push("", [millrace.Frame(b"\xff\xd8...", "jpeg")]))
        self.assertEqual(self.sent()[0].image, b"\xff\xd8...")

    def test_time_and_label_go_along(self):
        taken = datetime.datetime(2024, 5, 6, 7, 8, 9, 250_000, datetime.UTC)
        outcome, = self.client.push("", [millrace.Frame(BLACK, "a", taken, label="open")])
        frame = self.sent()[0]
        self.assertEqual(frame.capture_time.ToDatetime(datetime.UTC), taken)
        self.assertEqual((frame.label.class_name, frame.label.frame_number), ("open", 0))
        self.assertTrue(outcome.label.added)

    def test_what_is_no_picture_is_said_before_it_is_sent(self):
        for wrong in (BLACK.astype(np.float32), np.zeros((2, 2, 4), np.uint8)):
            with self.assertRaisesRegex(ValueError, "a picture is uint8 of shape"):
                list(self.client.push("", [wrong]))
        with self.assertRaisesRegex(ValueError, "no time zone"):
            list(self.client.push("", [millrace.Frame(BLACK, "", datetime.datetime(2024, 5, 6))]))

    def test_what_the_frames_raise_comes_out(self):
        def frames():
            yield BLACK
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            list(self.client.push("", frames()))

    def test_a_refused_call_raises_why(self):
        self.server.refuse("Push", fake_server.Error(grpc.StatusCode.FAILED_PRECONDITION, "taken"))
        with self.assertRaisesRegex(millrace.FailedPrecondition, "taken"):
            next(self.client.push("door", [BLACK]))

    def test_one_that_is_closed_ends(self):
        def for_ever():
            while True:
                yield BLACK
        with self.client.push("door", for_ever()) as outcomes:
            outcomes.wait_for_place()
            next(outcomes)
        for _ in outcomes:  # Only earlier outcomes.
            pass


if __name__ == "__main__":
    unittest.main()
