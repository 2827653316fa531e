"""A prediction's numbers become arrays and its times become times."""

import datetime
import unittest

import millrace
from millrace_testing import fake_server
import numpy as np

from millrace.v1 import prediction_pb2


def tensor(array: np.ndarray) -> prediction_pb2.Tensor:
    kinds = {"float32": prediction_pb2.DATA_TYPE_FLOAT32, "uint8": prediction_pb2.DATA_TYPE_UINT8}
    return prediction_pb2.Tensor(shape=array.shape, data_type=kinds[array.dtype.name],
                                 data=array.tobytes())


def prediction(**fields) -> millrace.Prediction:
    return millrace.Prediction(message=prediction_pb2.Prediction(**fields))


class ArraysTest(unittest.TestCase):
    def test_flow_is_rows_columns_and_motion(self):
        flow = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
        seen = prediction(flow=tensor(flow)).flow
        self.assertEqual((seen.shape, seen.dtype), ((3, 2, 2), np.float32))
        np.testing.assert_array_equal(seen, flow)

    def test_next_picture_is_bytes_and_outputs_are_numbers(self):
        picture = np.arange(18, dtype=np.uint8).reshape(3, 2, 3)
        seen = prediction(next_picture=tensor(picture), outputs=tensor(np.float32([0.25, 0.75])))
        np.testing.assert_array_equal(seen.next_picture, picture)
        self.assertEqual(seen.next_picture.dtype, np.uint8)
        np.testing.assert_array_equal(seen.outputs, [0.25, 0.75])

    def test_uncertainty_is_rows_and_columns(self):
        doubt = np.arange(6, dtype=np.float32).reshape(3, 2)
        np.testing.assert_array_equal(prediction(uncertainty=tensor(doubt)).uncertainty, doubt)

    def test_arrays_share_one_memory_that_cannot_be_written(self):
        seen = prediction(flow=tensor(np.zeros((1, 1, 2), np.float32)))
        self.assertIs(seen.flow, seen.flow)
        self.assertFalse(seen.flow.flags.owndata)
        with self.assertRaises(ValueError):
            seen.flow[0, 0, 0] = 1

    def test_what_is_absent_is_none(self):
        seen = prediction()
        for value in (seen.flow, seen.uncertainty, seen.next_picture, seen.outputs, seen.grid, seen.camera, seen.view,
                      seen.preview, seen.camera_time, seen.arrival_time, seen.emission_time,
                      seen.best_class):
            self.assertIsNone(value)

    def test_a_view_leads_from_the_grid_to_the_camera(self):
        seen = prediction(view={"scale": 2.5, "left": 0, "top": 12.5})
        self.assertEqual(seen.view, millrace.GridView(scale=2.5, left=0, top=12.5))

    def test_a_preview_is_a_jpeg(self):
        self.assertEqual(prediction(preview=b"\xff\xd8").preview, b"\xff\xd8")

    def test_a_type_that_is_not_known_yet_is_none(self):
        self.assertIsNone(prediction(flow=prediction_pb2.Tensor(shape=[1], data_type=99)).flow)


class FieldsTest(unittest.TestCase):
    def test_times_are_in_utc_and_delays_are_times(self):
        seen = prediction(camera_time={"seconds": 1_700_000_000, "nanos": 250_000_999},
                          delay={"nanos": 134_000_000})
        self.assertEqual(seen.camera_time,
                         datetime.datetime(2023, 11, 14, 22, 13, 20, 250_000, datetime.UTC))
        self.assertEqual(seen.delay, datetime.timedelta(milliseconds=134))

    def test_the_first_class_is_one(self):
        self.assertEqual(prediction(best_class=0).best_class, 0)

    def test_sizes_have_names(self):
        seen = prediction(grid={"width": 320, "height": 240})
        self.assertEqual((seen.grid.width, seen.grid.height), (320, 240))

    def test_flags_that_are_not_known_yet_are_unspecified(self):
        seen = prediction(flags=[4, 99])
        self.assertEqual(seen.flags, {millrace.Flag.CUT, millrace.Flag.UNSPECIFIED})

    def test_shows_itself_without_its_megabytes(self):
        flow = tensor(np.zeros((9, 9, 2), np.float32))
        seen = prediction(stream="door", frame_number=412, flow=flow, loss=0.37, loss_no_motion=0.5,
                          delay={"nanos": 134_000_000})
        self.assertEqual(repr(seen), "Prediction('door', frame 412, explains 26 % of the motion, "
                                     "134 ms)")

    def test_shows_its_class_and_what_a_careful_reader_should_know(self):
        seen = millrace.Prediction(dropped=3, message=prediction_pb2.Prediction(
            stream="door", frame_number=9, best_class=1, best_class_name="open", flags=[7]))
        self.assertEqual(repr(seen), "Prediction('door', frame 9, class 'open', 0 ms, AFTER_GAP, "
                                     "3 dropped before it)")


class LatestTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        self.client = self.enterContext(millrace.Client(self.server.address))

    def test_is_the_newest(self):
        self.server.publish(3)
        self.assertEqual(self.client.latest("door").frame_number, 3)

    def test_says_how_old_it_is_and_what_the_camera_does(self):
        seen = self.client.latest("door")
        self.assertEqual(seen.age, datetime.timedelta(seconds=2))
        self.assertIs(seen.status.source_state, millrace.SourceState.STREAMING)

    def test_of_ones_own_pictures(self):
        pixels = np.zeros((2, 3, 3), np.uint8)
        seen = self.client.predict("door", [pixels, b"\xff\xd8"], parts=millrace.Parts())
        self.assertEqual(seen.stream, "door")
        (request,) = self.server.requests["Predict"]
        self.assertEqual((request.stream, request.parts.flow), ("door", False))
        raw, image = request.pictures
        self.assertEqual((raw.raw.width, raw.raw.height, raw.raw.data), (3, 2, pixels.tobytes()))
        self.assertEqual(image.image, b"\xff\xd8")
        with self.assertRaises(ValueError):
            self.client.predict("door", [pixels.astype(float)])

    def test_of_several_samples_in_their_order(self):
        samples = [(b"\xff\xd8", b"\xff\xd8")] * 3
        seen = self.client.predict("door", samples=samples, timeout=60)
        self.assertEqual([each.loss for each in seen], [0, 1, 2])
        (request,) = self.server.requests["Predict"]
        self.assertEqual([len(sample.pictures) for sample in request.samples], [2, 2, 2])
        self.assertEqual(self.client.predict("door", samples=[]), [])
        for wrong in ({}, {"pictures": samples[0], "samples": samples}):
            with self.assertRaisesRegex(ValueError, "either pictures"):
                self.client.predict("door", **wrong)

    def test_may_leave_everything_out(self):
        self.client.latest("door", parts=millrace.Parts())
        (request,) = self.server.requests["GetLatest"]
        self.assertTrue(request.HasField("parts"))
        self.assertFalse(request.parts.flow)

    def test_takes_what_is_larger_than_grpc_takes_by_itself(self):
        flow = np.zeros((1024, 1024, 2), np.float32)
        self.server.publish(flow=tensor(flow))
        self.assertEqual(next(self.client.predictions()).flow.shape, flow.shape)


if __name__ == "__main__":
    unittest.main()
