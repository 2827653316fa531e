"""A subscription resumes after a lost connection, reports losses, and gives up in time."""

import threading
import unittest

import error_messages
import fake_clock
import grpc
import millrace
from millrace_testing import fake_server, network
from millrace_testing.fake_server import UNAVAILABLE


class SubscriptionTest(unittest.TestCase):
    def setUp(self):
        self.clock = fake_clock.FakeClock()
        self.server = self.enterContext(fake_server.FakeServer())

    def client(self, address: str = "", **reconnect) -> millrace.Client:
        options = {"clock": self.clock, "draw": lambda: 0.0, **reconnect}
        return self.enterContext(millrace.Client(address or self.server.address,
                                                 reconnect=millrace.Reconnect(**options)))

    def numbers(self, predictions, count: int) -> list[int]:
        return [next(predictions).sequence for _ in range(count)]

    def test_ends_when_the_server_ends_the_call(self):
        predictions = self.client().predictions()
        self.server.publish(2)
        self.assertEqual(self.numbers(predictions, 2), [1, 2])
        self.server.end_calls(None)
        self.assertEqual(list(predictions), [])
        self.assertFalse(predictions.is_open())
        self.assertEqual(self.clock.waits, [])

    def test_asks_for_what_it_was_told_to(self):
        predictions = self.client().predictions(
            "door", policy=millrace.Policy.LOSSLESS, depth=64, parts=millrace.Parts(flow=True))
        self.server.publish()
        next(predictions)
        (request,) = self.server.requests["Subscribe"]
        self.assertEqual((request.stream, request.policy, request.depth), ("door", 3, 64))
        self.assertEqual((request.parts.flow, request.parts.outputs), (True, False))
        self.assertFalse(request.HasField("resume"))

    def test_asks_for_all_parts_by_saying_nothing(self):
        self.client().predictions().wait_for_server()
        self.assertFalse(self.server.requests["Subscribe"][0].HasField("parts"))

    def test_goes_on_after_a_broken_connection_where_it_was(self):
        wires = self.enterContext(network.Network(self.server.address))
        predictions = self.client(wires.address).predictions()
        self.server.publish(3)
        self.assertEqual(self.numbers(predictions, 3), [1, 2, 3])
        wires.break_all()
        self.server.publish(2)
        after = [next(predictions) for _ in range(2)]
        self.assertEqual([each.sequence for each in after], [4, 5])
        self.assertEqual([each.dropped for each in after], [0, 0])
        self.assertFalse(after[0].restarted)
        self.assertEqual(wires.connections, 2)

    def test_counts_what_the_server_no_longer_holds(self):
        predictions = self.client().predictions()
        self.server.publish()
        next(predictions)
        for lost_so_far in (6, 12):
            self.server.end_calls(UNAVAILABLE)
            self.server.publish(10)  # The server holds four.
            first, *_, last = [next(predictions) for _ in range(4)]
            self.assertEqual((first.dropped, first.dropped_total), (6, lost_so_far))
            self.assertEqual((last.dropped, last.dropped_total), (0, lost_so_far))
            self.assertFalse(first.restarted)

    def test_begins_anew_with_a_server_that_was_restarted(self):
        wires = self.enterContext(network.Network(self.server.address))
        predictions = self.client(wires.address).predictions()
        self.server.publish(3)
        self.numbers(predictions, 3)
        second = self.enterContext(fake_server.FakeServer(run_id="second"))
        wires.lead_to(second.address)
        self.server.stop()
        second.publish(2)
        first, then = next(predictions), next(predictions)
        self.assertEqual((first.run_id, first.sequence, first.restarted), ("second", 1, True))
        self.assertEqual((then.sequence, then.restarted), (2, False))
        resumed, anew = second.requests["Subscribe"]
        self.assertEqual((resumed.resume.run_id, resumed.resume.sequence), ("first", 3))
        self.assertFalse(anew.HasField("resume"))

    def test_a_server_that_tells_no_place_is_gone_on_with_from_now(self):
        self.server.life.run_id = ""
        predictions = self.client().predictions()
        self.server.publish()
        self.assertFalse(next(predictions).restarted)
        self.server.end_calls(UNAVAILABLE)
        self.assertTrue(next(predictions).restarted)

    def test_waits_twice_as_long_after_each_try_in_vain(self):
        self.server.refuse("Subscribe", *[UNAVAILABLE] * 5)
        self.server.publish()
        predictions = self.client(longest_wait=1.0).predictions()
        self.numbers(predictions, 1)
        self.assertEqual(self.clock.waits, [0.2, 0.4, 0.8, 1.0, 1.0])
        self.server.end_calls(UNAVAILABLE)
        self.server.publish()
        self.numbers(predictions, 1)
        self.assertEqual(self.clock.waits[5:], [0.2])

    def test_waits_are_shortened_by_chance(self):
        self.server.refuse("Subscribe", *[UNAVAILABLE] * 2)
        self.server.publish()
        next(self.client(draw=lambda: 0.5).predictions())
        self.assertEqual([round(wait, 9) for wait in self.clock.waits], [0.15, 0.3])

    def test_waits_as_long_as_the_server_says(self):
        self.server.refuse("Subscribe", fake_server.Error(
            grpc.StatusCode.UNAVAILABLE,
            details=error_messages.details(error_messages.retry_in(3))))
        self.server.publish()
        next(self.client().predictions())
        self.assertEqual(self.clock.waits, [3.0])

    def test_gives_up_in_time_and_says_why(self):
        self.server.refuse("Subscribe", *[UNAVAILABLE] * 9)
        predictions = self.client(give_up_after=2.0).predictions()
        words = "as the test wants it .*after 2 s, try 5"
        with self.assertRaisesRegex(millrace.ConnectionLost, words) as lost:
            next(predictions)
        self.assertIsInstance(lost.exception.__cause__, millrace.Unavailable)
        self.assertEqual([round(wait, 9) for wait in self.clock.waits], [0.2, 0.4, 0.8, 0.6])
        self.assertEqual(list(predictions), [])  # It has ended.

    def test_may_give_up_at_once(self):
        self.server.refuse("Subscribe", UNAVAILABLE)
        with self.assertRaises(millrace.ConnectionLost):
            next(self.client(give_up_after=0).predictions())
        self.assertEqual(self.clock.waits, [])

    def test_gives_up_where_nobody_listens(self):
        self.server.stop()
        with self.assertRaises(millrace.ConnectionLost):
            next(self.client(give_up_after=0).predictions())

    def test_a_call_that_stood_for_long_was_no_try_in_vain(self):
        self.clock.step = 3600.0  # Each call lasts an hour without an answer.
        self.server.refuse("Subscribe", *[UNAVAILABLE] * 3)
        self.server.publish()
        next(self.client(give_up_after=60.0).predictions())
        self.assertEqual(self.clock.waits, [0.2] * 3)

    def test_other_errors_end_it(self):
        missing = fake_server.Error(grpc.StatusCode.NOT_FOUND, "no stream gate; there is: door")
        self.server.refuse("Subscribe", missing)
        predictions = self.client().predictions("gate")
        with self.assertRaisesRegex(millrace.NotFound, "there is: door"):
            next(predictions)
        self.assertFalse(predictions.is_open())
        self.assertEqual(self.clock.waits, [])

    def test_too_slow_a_recorder_is_told(self):
        predictions = self.client().predictions(policy=millrace.Policy.LOSSLESS)
        predictions.wait_for_server()
        self.server.end_calls(fake_server.Error(grpc.StatusCode.RESOURCE_EXHAUSTED))
        with self.assertRaises(millrace.ResourceExhausted):
            next(predictions)


class CloseTest(unittest.TestCase):
    """close() wakes a waiting thread."""

    def setUp(self):
        self.server = self.enterContext(fake_server.FakeServer())
        self.clock = fake_clock.StoppedClock()
        self.client = self.enterContext(millrace.Client(
            self.server.address, reconnect=millrace.Reconnect(clock=self.clock)))
        self.left = None

    def read_to_the_end(self, predictions) -> threading.Thread:
        def read():
            self.left = list(predictions)

        reader = threading.Thread(target=read)
        reader.start()
        return reader

    def test_close_ends_waiting_for_a_prediction(self):
        predictions = self.client.predictions()
        predictions.wait_for_server()
        reader = self.read_to_the_end(predictions)
        predictions.close()
        reader.join()
        self.assertEqual(self.left, [])

    def test_close_ends_waiting_for_a_connection(self):
        self.server.refuse("Subscribe", UNAVAILABLE)
        predictions = self.client.predictions()
        reader = self.read_to_the_end(predictions)
        self.clock.waiting.wait()
        predictions.close()
        reader.join()
        self.assertEqual(self.left, [])

    def test_closing_the_client_ends_them_all(self):
        predictions, events = self.client.predictions(), self.client.watch()
        next(events)  # The EXISTS event.
        readers = [self.read_to_the_end(predictions), self.read_to_the_end(events)]
        self.client.close()
        for reader in readers:
            reader.join()
        self.assertEqual(self.left, [])

    def test_the_end_of_its_block_ends_it(self):
        with self.client.predictions() as predictions:
            self.server.publish()
            next(predictions)
        self.assertEqual(list(predictions), [])


if __name__ == "__main__":
    unittest.main()
