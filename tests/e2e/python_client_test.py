"""Subscriptions of the Python client continue after a failure of the server or the network."""

import contextlib
import itertools
import tempfile
import unittest

import millrace
from millrace_testing import millrace_process, network

# Restarts take seconds: tries are frequent, and the test's own limit ends what hangs.
RECONNECT = millrace.Reconnect(first_wait=0.05, longest_wait=0.2,
                               give_up_after=millrace_process.PATIENCE_S)


class RestartTest(unittest.TestCase):
    def setUp(self):
        self.stack = self.enterContext(contextlib.ExitStack())

    def start(self, **sections) -> millrace_process.Server:
        configuration = millrace_process.config(streams=[millrace_process.test_stream("door")],
                                                **sections)
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

    def test_goes_on_with_a_server_that_is_started_again_as_it_numbers_on(self):
        checkpoints = {"folder": self.enterContext(tempfile.TemporaryDirectory())}
        first = self.start(checkpoints=checkpoints)
        wires = self.stack.enter_context(network.Network(first.grpc))
        predictions = self.subscribe(wires.address)
        *_, before = itertools.islice(predictions, 20)
        millrace_process.stop(first)  # There is no server while the next one starts.
        wires.lead_to(self.start(checkpoints=checkpoints).grpc)
        after = next(each for each in predictions if each.run_id != before.run_id)
        self.assertTrue(after.restarted)
        self.assertGreater(after.frame_number, before.frame_number)
        self.assertGreater(after.epoch, before.epoch)

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


if __name__ == "__main__":
    unittest.main()
