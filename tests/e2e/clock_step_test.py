"""The machine's wall clock is set, forward and back by an hour, while a client watches a camera."""

import tempfile
import time
import unittest

from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
from wall_clock import Clock

HOUR_S = 3600


def seconds_ahead(prediction) -> float:
    return prediction.emission_time.ToNanoseconds() / 1e9 - time.time()


class ClockStepTest(unittest.TestCase):
    def test_a_step_changes_the_time_that_is_told_and_nothing_else(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        camera = self.enterContext(RtspCamera("--width", "64", "--height", "64", "--pattern",
                                              "ball", "--fps", "25", "--gop", "10"))
        streams = [{"name": "gate", "source": {"uri": camera.url}}]
        clock = Clock(folder)
        with clock:
            server = self.enterContext(millrace_process.serve(
                millrace_process.config(streams=streams)))
        auditor = self.enterContext(client.Auditor(server))
        subscriber = self.enterContext(client.Subscriber(server.grpc))
        subscriber.wait_for_predictions(20)
        before = client.sums(client.get(server.metrics)[1])
        for step in (HOUR_S, -HOUR_S, 0):
            with self.subTest(step):
                clock.step_to(step)
                millrace_process.wait_for("the server to see it", lambda step=step: abs(
                    seconds_ahead(subscriber.predictions[-1]) - step) < HOUR_S / 2)
                subscriber.wait_for_predictions(50)
                self.assertEqual(auditor.stream().source_cause, "")
        after = client.sums(client.get(server.metrics)[1])
        for name in ("millrace_ingest_source_transitions_total", "millrace_ingest_reconnects_total"):
            self.assertEqual(after[name], before[name], name)
        self.judge(subscriber.predictions)

    def judge(self, predictions) -> None:
        self.assertEqual({prediction.epoch for prediction in predictions}, {0})
        delays = [prediction.delay.ToNanoseconds() / 1e9 for prediction in predictions]
        self.assertGreater(min(delays), 0)
        self.assertLess(max(delays), HOUR_S / 60, "of minutes at most, on the slowest machine")


if __name__ == "__main__":
    unittest.main(verbosity=2)
