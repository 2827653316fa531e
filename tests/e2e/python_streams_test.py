"""The Python client adds, changes, watches and deletes streams of a server that starts without streams. A
refusal names its reason."""

import contextlib
import unittest

from millrace import EventKind
import millrace
from millrace_testing import millrace_process

GATE = millrace_process.test_stream("gate")
OTHER_SOURCE = {**GATE, "source": {**GATE["source"], "test_frames_per_second": 20}}
OTHER_MODEL = {**GATE, "model": {"input": [96, 64]}}


class EmptyServer(unittest.TestCase):
    def setUp(self):
        server = self.enterContext(millrace_process.serve(millrace_process.config(streams=[])))
        self.client = self.enterContext(millrace.Client(server.grpc))


class StreamsTest(EmptyServer):
    def test_come_change_and_go_before_a_watcher(self):
        events = self.client.watch()
        events.wait_for_server()
        self.assertEqual(self.client.streams(), [])
        self.client.create_stream(GATE)
        self.client.update_stream("gate", OTHER_SOURCE)
        self.client.delete_stream("gate")
        kinds = []
        while EventKind.DELETED not in kinds:
            event = next(events)
            self.assertEqual(event.stream, "gate")
            kinds.append(event.kind)
        for kind in (EventKind.CREATED, EventKind.UPDATED, EventKind.DELETED):
            self.assertEqual(kinds.count(kind), 1, kinds)
        self.assertEqual(self.client.streams(), [])

    def test_a_subscription_ends_with_its_stream(self):
        self.client.create_stream(GATE)
        predictions = self.client.predictions("gate")
        next(predictions)
        self.assertEqual(self.client.delete_stream("gate").name, "gate")
        list(predictions)
        self.assertFalse(predictions.is_open())

    def test_another_source_is_the_same_life(self):
        before = self.client.create_stream(GATE)
        predictions = self.client.predictions("gate")
        first = next(predictions)
        after = self.client.update_stream("gate", OTHER_SOURCE, etag=before.etag)
        self.assertEqual(after.run_id, before.run_id)
        self.assertNotEqual(after.etag, before.etag)
        self.assertEqual(after.config, OTHER_SOURCE)
        other = next(each for each in predictions if each.epoch > first.epoch)
        self.assertEqual((other.run_id, other.restarted), (first.run_id, False))
        self.assertGreater(other.frame_number, first.frame_number)

    def test_another_model_is_another_life(self):
        before = self.client.create_stream(GATE)
        predictions = self.client.predictions("gate", parts=millrace.Parts(preview=True))
        first = next(predictions)
        self.assertEqual(first.run_id, before.run_id)
        self.assertIsNone(first.flow)
        self.assertTrue(first.preview.startswith(b"\xff\xd8"), "it is no JPEG")
        with self.assertRaises(millrace.FailedPrecondition):
            self.client.update_stream("gate", OTHER_MODEL)
        self.assertEqual(self.client.stream("gate").run_id, before.run_id)
        self.client.update_stream("gate", OTHER_MODEL, allow_reset=True)
        after = next(each for each in predictions if each.run_id != first.run_id)
        self.assertTrue(after.restarted)
        self.assertEqual(self.client.latest("gate").flow.shape, (64, 96, 2))


class RefusalTest(EmptyServer):
    @contextlib.contextmanager
    def refused(self, kind: type[millrace.MillraceError], reason: str):
        """Within it the client is refused so, for that reason."""
        with self.assertRaises(kind) as error:
            yield error
        self.assertEqual(error.exception.reason, reason)

    def test_a_stream_that_is_not_there(self):
        self.client.create_stream(GATE)
        with self.refused(millrace.NotFound, "STREAM_NOT_FOUND") as error:
            self.client.stream("absent")
        self.assertIn("'gate'", str(error.exception))
        with self.refused(millrace.NotFound, "STREAM_NOT_FOUND"):
            next(self.client.predictions("absent"))
        with self.refused(millrace.NotFound, "STREAM_NOT_FOUND"):
            self.client.learner("absent").pause()

    def test_a_stream_that_is_there_already(self):
        self.client.create_stream(GATE)
        with self.refused(millrace.AlreadyExists, "STREAM_EXISTS"):
            self.client.create_stream(GATE)

    def test_each_field_that_is_wrong(self):
        wrong = {"name": "gate", "source": {"uri": "test:ball", "loops": 2}, "model": {"inputs": 1}}
        with self.refused(millrace.InvalidArgument, "INVALID_FIELD") as error:
            self.client.create_stream(wrong)
        fields = [violation.field for violation in error.exception.field_violations]
        self.assertEqual(len(fields), 2, fields)
        self.assertTrue(all(field.startswith("config.") for field in fields), fields)
        self.assertEqual(self.client.streams(), [])

    def test_a_stream_that_was_changed_meanwhile(self):
        before = self.client.create_stream(GATE)
        self.client.update_stream("gate", OTHER_SOURCE, etag=before.etag)
        with self.refused(millrace.Aborted, "ETAG_MISMATCH"):
            self.client.update_stream("gate", GATE, etag=before.etag)
        with self.refused(millrace.Aborted, "ETAG_MISMATCH"):
            self.client.delete_stream("gate", etag=before.etag)
        self.assertEqual(self.client.stream("gate").config, OTHER_SOURCE)

    def test_a_file_of_the_server(self):
        with self.refused(millrace.PermissionDenied, "SOURCE_NOT_ALLOWED"):
            self.client.create_stream({"name": "gate", "source": {"uri": "file:video.avi"}})

    def test_checkpoints_of_a_stream_that_keeps_none(self):
        self.client.create_stream(GATE)
        with self.refused(millrace.FailedPrecondition, "NO_CHECKPOINTS_KEPT"):
            self.client.checkpoints("gate").create()


if __name__ == "__main__":
    unittest.main()
