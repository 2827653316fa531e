"""Streams are listed, added, changed, deleted and watched."""

import datetime
import unittest

import fake_clock
import millrace
from millrace_testing import fake_server

from millrace.v1 import stream_pb2, stream_service_pb2

CONFIG = {"name": "door", "source": {"uri": "test:ball", "loop": True},
          "model": {"input": [64, 64], "learning_rate": 0.5}}


class StreamsTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        self.client = self.enterContext(millrace.Client(self.server.address))

    def test_are_listed_and_found(self):
        self.assertEqual([stream.name for stream in self.client.streams()], ["door"])
        self.assertEqual(self.client.stream("gate").name, "gate")

    def test_are_created_as_the_configuration_file_has_them(self):
        stream = self.client.create_stream(CONFIG)
        self.assertEqual((stream.name, stream.etag), ("door", "1"))
        self.assertEqual(stream.config, CONFIG)
        self.assertIsInstance(stream.config["model"]["input"][0], int)

    def test_are_updated_if_they_are_what_they_were(self):
        self.client.update_stream("door", CONFIG, etag="1", allow_reset=True)
        (request,) = self.server.requests["UpdateStream"]
        self.assertEqual((request.stream, request.etag, request.allow_reset), ("door", "1", True))
        self.assertEqual(request.config["source"]["uri"], "test:ball")

    def test_are_deleted(self):
        self.assertEqual(self.client.delete_stream("door", etag="1").name, "door")
        self.assertEqual(self.server.requests["DeleteStream"][0].etag, "1")


class StreamTest(unittest.TestCase):
    def test_says_what_became_of_every_frame(self):
        frames = {"received": 9, "predicted": 5, "in_flight": 1,
                  "dropped": [{"reason": stream_pb2.DROP_REASON_GAP, "frames": 3}]}
        counts = millrace.Stream(stream_pb2.Stream(frames=frames)).frames
        self.assertEqual(counts, millrace.FrameCounts(9, 5, {millrace.DropReason.GAP: 3}, 1))

    def test_says_what_it_learns_from_labels(self):
        task = {"kind": 1, "outputs": 2, "class_names": ["shut", "open"], "window": 64}
        self.assertEqual(millrace.Stream(stream_pb2.Stream(labelled_task=task)).labelled_task,
                         millrace.LabelledTask(millrace.LabelKind.CLASS, 2, ("shut", "open"), 64))

    def test_what_is_absent_is_none(self):
        stream = millrace.Stream(stream_pb2.Stream())
        for value in (stream.camera, stream.delay_p50, stream.labelled_task, stream.promise):
            self.assertIsNone(value)

    def test_shows_itself_in_a_line(self):
        stream = millrace.Stream(stream_pb2.Stream(
            name="door", source_state=2, learner_state=1, frames_per_second_in=10,
            predictions_per_second=9.94, loss=0.37, loss_no_motion=0.5))
        self.assertEqual(repr(stream), "Stream('door', STREAMING, LEARNING, 10.0 frames/s in, "
                                       "9.9 predictions/s, explains 26 % of the motion)")

    def test_shows_what_is_wrong(self):
        stream = millrace.Stream(stream_pb2.Stream(name="door", source_state=3, learner_state=1,
                                                   source_cause="no route to host"))
        self.assertIn("BACKING_OFF: no route to host, LEARNING", repr(stream))

    def test_shows_what_it_gives_up(self):
        stream = millrace.Stream(stream_pb2.Stream(
            name="door", source_state=2, learner_state=1,
            overload={"kind": 4, "cause": "drops 20.0 of 25.0 frames a second"}))
        self.assertIn("LEARNING, drops 20.0 of 25.0 frames a second, 0.0 frames/s in",
                      repr(stream))

    def test_says_what_its_plan_promises_and_whether_that_is_kept(self):
        promise = {"frames_per_second": 25, "delay": {"nanos": 9_000_000}, "delay_kept": True}
        self.assertEqual(millrace.Stream(stream_pb2.Stream(promise=promise)).promise,
                         millrace.Promise(frames_per_second=25, rate_kept=False, delay_kept=True,
                                          delay=datetime.timedelta(milliseconds=9)))


class WatchTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        reconnect = millrace.Reconnect(clock=fake_clock.FakeClock())
        self.client = self.enterContext(millrace.Client(self.server.address, reconnect=reconnect))

    def test_begins_with_what_exists_and_goes_on_with_what_happens(self):
        events = self.client.watch("door")
        self.assertEqual(next(events).kind, millrace.EventKind.EXISTS)
        self.server.events.add({"kind": stream_service_pb2.STREAM_EVENT_KIND_SOURCE_STATE,
                                "source_state": stream_pb2.SOURCE_STATE_BACKING_OFF,
                                "cause": "no route", "time": {"seconds": 0}})
        event = next(events)
        self.assertEqual((event.kind, event.source_state, event.cause, event.restarted),
                         (millrace.EventKind.SOURCE_STATE, millrace.SourceState.BACKING_OFF,
                          "no route", False))
        self.assertEqual(event.time, datetime.datetime.fromtimestamp(0, datetime.UTC))
        self.assertEqual(self.server.requests["WatchStreams"][0].stream, "door")

    def test_begins_anew_after_a_lost_connection(self):
        events = self.client.watch()
        self.assertFalse(next(events).restarted)
        self.server.events.end(fake_server.UNAVAILABLE)
        event = next(events)
        self.assertEqual((event.kind, event.restarted), (millrace.EventKind.EXISTS, True))
        self.server.events.add({})
        self.assertFalse(next(events).restarted)

    def test_ends_with_its_stream(self):
        events = self.client.watch("door")
        next(events)
        self.server.events.end(None)
        self.assertEqual(list(events), [])


if __name__ == "__main__":
    unittest.main()
