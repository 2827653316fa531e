"""From an RTSP camera to a gRPC client, while the camera is killed, absent or frozen.

In every test the client's one subscription must outlive all faults of the camera, and the counters must
be consistent in every answer of the server.
"""

import contextlib
import unittest
from collections.abc import Iterator

import grpc

from millrace.v1 import prediction_pb2
from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera

# What the server promises of SIGTERM.


class Scene:
    """A camera, its server, a Subscriber and an Auditor."""

    def __init__(self, camera, server, subscriber, auditor):
        self.camera: RtspCamera = camera
        self.server: millrace_process.Server = server
        self.subscriber: client.Subscriber = subscriber
        self.auditor: client.Auditor = auditor

    def transitions(self) -> float:
        """How often the source came into another state, as the metrics say."""
        return client.of_stream(client.get(self.server.metrics)[1],
                                "millrace_ingest_source_transitions_total", "gate")


def picture_of(width: int, height: int) -> list[str]:
    return ["--width", str(width), "--height", str(height), "--fps", "25", "--gop", "10",
            "--pattern", "ball"]


def small_camera() -> RtspCamera:
    return RtspCamera(*picture_of(64, 64))


def on_camera(url: str) -> dict:
    return millrace_process.config(streams=[{"name": "gate", "source": {"uri": url}}])


class RtspTest(unittest.TestCase):
    @contextlib.contextmanager
    def scene(self, camera_is_there: bool = True) -> Iterator[Scene]:
        """Plays what the block does. Then stops the server and judges what everybody saw."""
        with small_camera() as camera:
            if not camera_is_there:
                camera.kill()
            with millrace_process.serve(on_camera(camera.url)) as server, \
                    client.Auditor(server) as auditor, \
                    client.Subscriber(server.grpc) as subscriber:
                yield Scene(camera, server, subscriber, auditor)
                self.assertTrue(subscriber.is_open(), "the client's stream stays open")
                auditor.finish()
                millrace_process.stop(server)
                self.assertEqual(subscriber.end(), grpc.StatusCode.UNAVAILABLE)
            self.assertLess(server.stop_s, millrace_process.stop_limit_s())
        self.judge_audit(auditor)
        self.judge_predictions(subscriber, client.books_of_summary(server.summary))

    def judge_audit(self, auditor: client.Auditor) -> None:
        self.assertEqual(auditor.wrong, [])
        self.assertGreater(auditor.audits, 0)

    def judge_predictions(self, subscriber: client.Subscriber, books: client.Books) -> None:
        """No number twice, none without a frame, epochs in order; the last page of the books."""
        predictions = subscriber.predictions
        numbers = [prediction.frame_number for prediction in predictions]
        self.assertEqual(numbers, sorted(set(numbers)))
        self.assertLess(numbers[-1], books.received)
        for before, after in zip(predictions, predictions[1:]):
            self.assertGreaterEqual(after.epoch, before.epoch)
            if after.epoch > before.epoch:  # The first frame of a session has nothing to move from.
                self.assertGreater(after.frame_number, before.frame_number + 1)
        self.assertTrue(books.balance(), books)
        self.assertEqual(books.in_flight, 0)

    def assert_camera_is_away(self, scene: Scene) -> None:
        """/readyz says so and stays 200: a restart would not bring the camera back."""
        status, text = scene.auditor.ready()
        self.assertEqual(status, 200, text)
        self.assertIn("the camera is away", text)

    def assert_nothing_is_amiss(self, scene: Scene) -> None:
        self.assertEqual(scene.auditor.ready(), (200, "ready\n"))

    def test_a_killed_camera_comes_back(self):
        with self.scene() as scene:
            scene.subscriber.wait_for_predictions(20)
            self.assert_nothing_is_amiss(scene)
            for _ in range(2):
                epoch = scene.subscriber.epoch()
                scene.camera.kill()
                scene.auditor.wait_for_state("BACKING_OFF", "CONNECTING")
                self.assert_camera_is_away(scene)
                scene.camera.come_back()
                scene.subscriber.wait_for_predictions(20, epoch_above=epoch)
                self.assert_nothing_is_amiss(scene)
            self.assertGreaterEqual(scene.auditor.stream().reconnects, 2)
            # Three times connecting and streaming, and backing off between.
            self.assertGreaterEqual(scene.transitions(), 7)

    def test_the_first_prediction_of_pictures_of_another_size_says_so(self):
        with self.scene() as scene:
            scene.subscriber.wait_for_predictions(20)
            for width in (64, 96):  # The same size again is a new session, and no more.
                epoch = scene.subscriber.epoch()
                scene.camera.kill()
                scene.auditor.wait_for_state("BACKING_OFF", "CONNECTING")
                scene.camera.come_back(*picture_of(width, 64))
                scene.subscriber.wait_for_predictions(20, epoch_above=epoch)
            scrape = client.sums(client.get(scene.server.metrics)[1])
            self.assertEqual(scrape["millrace_ingest_size_changes_total"], 1)
        flagged = [prediction for prediction in scene.subscriber.predictions
                   if prediction_pb2.PREDICTION_FLAG_NEW_SIZE in prediction.flags]
        other = [prediction for prediction in scene.subscriber.predictions
                 if prediction.camera.width == 96]
        self.assertEqual([p.frame_number for p in flagged], [other[0].frame_number])

    def test_a_camera_that_is_not_there_at_the_start_may_come_later(self):
        with self.scene(camera_is_there=False) as scene:
            millrace_process.wait_for("a reason", lambda: scene.auditor.stream().source_cause)
            self.assert_camera_is_away(scene)
            self.assertEqual(scene.auditor.stream().frames.received, 0)
            scene.camera.come_back()
            scene.subscriber.wait_for_predictions(20)
            self.assert_nothing_is_amiss(scene)
        # The client was there before the first frame: nothing escapes it uncounted.
        lost = scene.subscriber.messages[-1].dropped_total
        self.assertEqual(len(scene.subscriber.messages) + lost, scene.server.summary["predicted"])

    def test_a_frozen_camera_is_noticed_and_recovers(self):
        with self.scene() as scene:
            scene.subscriber.wait_for_predictions(20)
            epoch = scene.subscriber.epoch()
            scene.camera.freeze()
            scene.auditor.wait_for_state("BACKING_OFF", "CONNECTING")
            self.assert_camera_is_away(scene)
            scene.camera.thaw()
            scene.subscriber.wait_for_predictions(20, epoch_above=epoch)
            self.assert_nothing_is_amiss(scene)

    def test_the_server_ends_in_time_while_the_camera_is_frozen(self):
        with self.scene() as scene:
            scene.subscriber.wait_for_predictions(20)
            scene.camera.freeze()
            scene.auditor.wait_for_state("BACKING_OFF", "CONNECTING")


if __name__ == "__main__":
    unittest.main(verbosity=2)
