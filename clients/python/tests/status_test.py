"""A client that waits for predictions learns why there are none."""

import datetime
import unittest

import fake_clock
import millrace
from millrace_testing import fake_server
from millrace_testing.fake_server import UNAVAILABLE

AWAY = {"source_state": millrace.SourceState.BACKING_OFF, "learner_state": 1,
        "source_cause": "rtsp://***@door/1: no route to host"}
BACK = {"source_state": millrace.SourceState.STREAMING, "learner_state": 1}


class StatusTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        reconnect = millrace.Reconnect(clock=fake_clock.FakeClock(), draw=lambda: 0.0)
        self.client = self.enterContext(millrace.Client(self.server.address, reconnect=reconnect))

    def test_is_asked_for_and_told_between_the_predictions(self):
        said: list[millrace.StreamStatus] = []
        predictions = self.client.predictions("door", on_status=said.append)
        self.server.publish()
        self.server.tell(**AWAY, prediction_age={"seconds": 12})
        self.server.publish()
        self.assertEqual([next(predictions).sequence for _ in range(2)], [1, 3])
        self.assertTrue(self.server.requests["Subscribe"][0].status)
        [status] = said
        self.assertEqual(status.source_state, millrace.SourceState.BACKING_OFF)
        self.assertEqual(status.prediction_age, datetime.timedelta(seconds=12))
        self.assertFalse(status.predicts)
        self.assertEqual(str(status), "door: its source is BACKING_OFF: rtsp://***@door/1: no route "
                                      "to host")

    def test_yields_predictions_alone(self):
        self.server.tell(**BACK)
        self.server.tell(**BACK)
        self.server.publish()
        self.assertEqual(next(self.client.predictions()).sequence, 3)

    def test_a_camera_that_is_away_is_logged_once_and_that_it_is_back(self):
        predictions = self.client.predictions()
        with self.assertLogs("millrace", "INFO") as log:
            for status in (BACK, AWAY, {"source_state": 1, "learner_state": 1}, AWAY, AWAY, BACK):
                self.server.tell(**status)
                self.server.publish()
                next(predictions)
        self.assertEqual(log.output, [
            "WARNING:millrace:no predictions of door: its source is BACKING_OFF: "
            "rtsp://***@door/1: no route to host",
            "INFO:millrace:door: predictions come again"])

    def test_an_overload_is_logged_once_and_that_it_is_over(self):
        drops = {**BACK, "overload": millrace.OverloadKind.DROPS,
                 "overload_cause": "drops 20.0 of 25.0 frames a second",
                 "overload_remedy": "every frame is predicted and learned from with source.max_fps: 4"}
        less = {**BACK, "overload": millrace.OverloadKind.LEARNS_LESS,
                "overload_cause": "learns from one frame in 2"}
        predictions = self.client.predictions()
        with self.assertLogs("millrace", "INFO") as log:
            for status in (BACK, less, drops, {**drops, "overload_cause": "drops 19.0"}, less, BACK, drops, BACK):
                self.server.tell(**status)
                self.server.publish()
                next(predictions)
        warning = ("WARNING:millrace:door: drops 20.0 of 25.0 frames a second: every frame is predicted and "
                   "learned from with source.max_fps: 4")
        self.assertEqual(log.output, [
            warning, "INFO:millrace:door: learns from one frame in 2", "INFO:millrace:door: the overload is over",
            warning, "INFO:millrace:door: the overload is over"])

    def test_what_the_callback_raises_is_raised_and_the_next_prediction_comes(self):
        def fail(_: millrace.StreamStatus) -> None:
            raise RuntimeError("enough")

        predictions = self.client.predictions(on_status=fail)
        self.server.tell(**AWAY)
        self.server.publish()
        with self.assertRaisesRegex(RuntimeError, "enough"):
            next(predictions)
        self.assertEqual(next(predictions).sequence, 2)

    def test_is_a_place_to_go_on_from(self):
        predictions = self.client.predictions()
        self.server.tell(**AWAY)
        self.server.tell(**AWAY)
        self.server.end_calls(UNAVAILABLE)
        self.server.publish()
        prediction = next(predictions)
        self.assertEqual((prediction.sequence, prediction.dropped), (3, 0))

    def test_restarted_is_not_forgotten_before_a_prediction_says_it(self):
        self.server.life.run_id = ""  # The server sends no resume point.
        predictions = self.client.predictions()
        self.server.publish()
        next(predictions)
        self.server.end_calls(UNAVAILABLE)
        self.server.refuse("Subscribe", UNAVAILABLE)
        self.assertTrue(next(predictions).restarted)


if __name__ == "__main__":
    unittest.main()
