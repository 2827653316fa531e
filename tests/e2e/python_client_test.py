"""The Python client beside the real server: it goes on after a restart, and changes streams while it
runs."""

import contextlib
import itertools
import unittest

import millrace
import millrace_process
import network

# Restarts take seconds: tries are frequent, and the test's own limit ends what hangs.
RECONNECT = millrace.Reconnect(first_wait=0.05, longest_wait=0.2,
                               give_up_after=millrace_process.PATIENCE_S)


class RestartTest(unittest.TestCase):
    def setUp(self):
        self.stack = self.enterContext(contextlib.ExitStack())

    def start(self) -> millrace_process.Server:
        configuration = millrace_process.config(streams=[millrace_process.test_stream("door")])
        process, _ = self.stack.enter_context(millrace_process.start(configuration))
        return millrace_process.stands(process)

    def subscribe(self, address: str) -> millrace.Subscription[millrace.Prediction]:
        client = self.stack.enter_context(millrace.Client(address, reconnect=RECONNECT))
        return client.predictions("door")

    def assert_outlives(self, end) -> None:
        """Predictions go on with another server, after `end` has ended the first."""
        first, second = self.start(), self.start()
        wires = self.stack.enter_context(network.Network(first.grpc))
        predictions = self.subscribe(wires.address)
        before = list(itertools.islice(predictions, 5))
        self.assertEqual([each.sequence - before[0].sequence for each in before], [0, 1, 2, 3, 4])
        wires.lead_to(second.grpc)
        end(first)
        after = next(each for each in predictions if each.run_id != before[0].run_id)
        self.assertTrue(after.restarted)

    def test_goes_on_after_a_server_that_was_stopped(self):
        self.assert_outlives(millrace_process.stop)

    def test_goes_on_after_a_server_that_was_killed(self):
        self.assert_outlives(lambda server: server.process.kill())

    def test_goes_on_after_a_broken_connection_where_it_was(self):
        server = self.start()
        wires = self.stack.enter_context(network.Network(server.grpc))
        predictions = self.subscribe(wires.address)
        before = next(predictions)
        wires.break_all()
        after = next(itertools.islice(predictions, 20, None))
        self.assertFalse(after.restarted)
        self.assertEqual(after.run_id, before.run_id)
        self.assertEqual(after.sequence - before.sequence, 21 + after.dropped_total)
        self.assertEqual(wires.connections, 2)


class StreamsTest(unittest.TestCase):
    def client(self) -> millrace.Client:
        configuration = millrace_process.config(streams=[millrace_process.test_stream("door")])
        server = self.enterContext(millrace_process.serve(configuration))
        return self.enterContext(millrace.Client(server.grpc, reconnect=RECONNECT))

    def test_a_model_made_anew_is_another_life(self):
        client = self.client()
        predictions = client.predictions("door", parts=millrace.Parts(preview=True))
        first = next(predictions)
        self.assertIsNone(first.flow)
        self.assertTrue(first.preview.startswith(b"\xff\xd8"), "it is no JPEG")
        stream = client.stream("door")
        self.assertEqual(stream.run_id, first.run_id)
        changed = {**stream.config, "model": {"input": [96, 64]}}
        with self.assertRaises(millrace.FailedPrecondition):
            client.update_stream("door", changed, etag=stream.etag)
        client.update_stream("door", changed, etag=stream.etag, allow_reset=True)
        after = next(each for each in predictions if each.run_id != first.run_id)
        self.assertTrue(after.restarted)
        self.assertEqual(client.latest("door").flow.shape, (64, 96, 2))
        with self.assertRaises(millrace.Aborted):
            client.update_stream("door", changed, etag=stream.etag)

    def test_streams_come_and_go(self):
        client = self.client()
        events = client.watch()
        self.assertEqual(next(events).stream, "door")
        client.create_stream(millrace_process.test_stream("gate"))
        created = next(each for each in events if each.kind is millrace.EventKind.CREATED)
        self.assertEqual(created.stream, "gate")
        predictions = client.predictions("gate")
        next(predictions)
        client.delete_stream("gate")
        list(predictions)  # They end.
        deleted = next(each for each in events if each.kind is millrace.EventKind.DELETED)
        self.assertEqual(deleted.stream, "gate")
        with self.assertRaisesRegex(millrace.NotFound, "'door'"):
            client.stream("gate")

    def test_wrong_fields_are_named(self):
        client = self.client()
        with self.assertRaises(millrace.InvalidArgument) as error:
            client.create_stream({"name": "gate", "source": {"uri": "test:ball", "loops": 2}})
        self.assertEqual(error.exception.reason, "INVALID_FIELD")
        (violation,) = error.exception.field_violations
        self.assertTrue(violation.field.startswith("config.source"), violation)


if __name__ == "__main__":
    unittest.main()
