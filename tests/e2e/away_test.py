"""A camera is killed and comes back: each of our clients reports it while it waits for predictions."""

import contextlib
import datetime
import json
import queue
import subprocess
import threading
import time
import unittest

import millrace
from millrace_testing import millrace_process
from millrace_testing.rtsp_camera import RtspCamera

PASSWORD = "q7Rt2vXz9LmK4pWs"


class AwayTest(unittest.TestCase):
    def setUp(self):
        self.stack = self.enterContext(contextlib.ExitStack())
        self.camera = self.stack.enter_context(
            RtspCamera("--width", "64", "--height", "64", "--fps", "25", "--gop", "10", "--pattern", "ball"))
        # The camera asks for no login; what is wrong with it must not tell the one that is given.
        url = self.camera.url.replace("rtsp://", f"rtsp://admin:{PASSWORD}@")
        config = millrace_process.config(streams=[{"name": "gate", "source": {"uri": url}}])
        self.server = self.stack.enter_context(millrace_process.serve(config))
        self.client = self.stack.enter_context(millrace.Client(self.server.grpc))
        self.said: queue.Queue[millrace.StreamStatus] = queue.Queue()

    def subscribe(self) -> queue.Queue:
        """The predictions as they come, read on a thread of their own."""
        came: queue.Queue[millrace.Prediction] = queue.Queue()
        predictions = self.stack.enter_context(self.client.predictions("gate", on_status=self.said.put))
        reader = threading.Thread(target=lambda: [came.put(each) for each in predictions])
        reader.start()
        self.stack.callback(reader.join)
        self.stack.callback(predictions.close)
        return came

    def await_status(self, *states: millrace.SourceState) -> millrace.StreamStatus:
        """The next status in one of those states."""
        while True:
            status = self.said.get(timeout=millrace_process.PATIENCE_S)
            self.assertNotIn(PASSWORD, repr(status))
            if status.source_state in states:
                return status

    def test_a_subscriber_is_told_at_once_and_at_each_change(self):
        came = self.subscribe()
        came.get(timeout=millrace_process.PATIENCE_S)
        self.camera.kill()
        status = self.await_status(millrace.SourceState.BACKING_OFF)
        self.assertIn("127.0.0.1", status.source_cause)
        self.assertFalse(status.predicts)
        # A second one, to a camera that is away already, is told at once.
        begun = time.monotonic()
        with self.client.predictions("gate", on_status=self.said.put) as second:
            reader = threading.Thread(target=lambda: list(second))
            reader.start()
            self.await_status(millrace.SourceState.BACKING_OFF, millrace.SourceState.CONNECTING)
            self.assertLess(time.monotonic() - begun, 10)
            second.close()
            reader.join()
        self.camera.come_back()
        self.await_status(millrace.SourceState.STREAMING)
        while not came.empty():
            came.get()
        after = came.get(timeout=millrace_process.PATIENCE_S)
        self.assertGreaterEqual(after.epoch, 1)
        self.assertEqual(after.dropped, 0)

    def test_the_newest_prediction_says_how_old_it_is(self):
        millrace_process.wait_for("a prediction", lambda: self.client.stream("gate").frames.predicted > 0)
        self.camera.kill()
        latest = millrace_process.wait_for("the newest to grow old", self.older_than_two_seconds)
        self.assertFalse(latest.status.predicts, latest.status)
        self.assertIn("127.0.0.1", latest.status.source_cause)

    def older_than_two_seconds(self) -> millrace.Prediction | None:
        latest = self.client.latest("gate")
        return latest if latest.age > datetime.timedelta(seconds=2) else None

    def test_watch_says_it_to_programs(self):
        with subprocess.Popen([millrace_process.program(), "watch", self.server.grpc, "--json"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as watch:
            try:
                self.assertIn("frame_number", json.loads(watch.stdout.readline()))
                self.camera.kill()
                away = next(line for line in watch.stderr if "backing off" in line)
                self.assertRegex(away, r"^gate  source backing off, .*127\.0\.0\.1")
                self.assertNotIn(PASSWORD, away)
            finally:
                watch.kill()


if __name__ == "__main__":
    unittest.main()
