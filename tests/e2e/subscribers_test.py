"""Two hundred subscribers at once, most of them bad: the model learns as fast as without them, memory
stays bounded, and those that take nothing are let go."""

import contextlib
import os
import subprocess
import sys
import unittest

import client
import millrace
import millrace_process

# Of the rate without subscribers.
LEAST_RATE = 0.95
# The share of its time that the learner is busy: it may be held up by what reading takes of the same
# processors, which would be other machines', but not become twice as slow.
BUSY = 0.5
MOST_MORE_MB = 150
# That a rate is measured over: so long that who takes nothing for ten seconds is let go within.
SECONDS = 13


class Crowd:
    """So many subscribers in a process of their own, which has what processors the server leaves: they
    stand for other machines. A context manager."""

    def __init__(self, address: str, kind: str, count: int):
        self.process = subprocess.Popen(
            ["nice", "-n", "19", os.environ["MILLRACE_SUBSCRIBER_CROWD"], address, kind, str(count)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "Crowd":
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError("the subscriptions do not stand")
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.wait(millrace_process.PATIENCE_S)
        self.process.stdout.close()

    def vanish(self) -> None:
        """They are gone without a word."""
        self.process.kill()


def serves(frames_per_second: int):
    """A server of one stream that learns on one processor, at most some twenty frames a second."""
    return millrace_process.serve(millrace_process.config(
        model={"input": [64, 64], "network": "resunet"}, schedule={"kind": "sequential", "stages": 1},
        streams=[millrace_process.test_stream("door", frames_per_second=frames_per_second)]))


def rate(server: millrace_process.Server, seconds: float, meanwhile=lambda: None) -> float:
    """Predictions a second, over so many seconds; calls `meanwhile` again and again until then."""
    with client.Subscriber(server.grpc, parts=millrace.Parts(flow=False)) as subscriber:
        def passed() -> float:
            first, last = subscriber.messages[0], subscriber.messages[-1]
            return (last.emission_time - first.emission_time).total_seconds()

        def enough() -> bool:
            meanwhile()
            return passed() >= seconds

        subscriber.wait_for_predictions(1)
        millrace_process.wait_for("predictions", enough)
        first, last = subscriber.messages[0], subscriber.messages[-1]
    return (last.sequence - first.sequence) / (last.emission_time - first.emission_time).total_seconds()


class SubscribersTest(unittest.TestCase):
    def setUp(self):
        with serves(frames_per_second=200) as server:
            self.most = rate(server, 3)
        self.server = self.enterContext(serves(frames_per_second=max(1, round(BUSY * self.most))))

    def metric(self, name: str) -> float:
        return client.sums(client.get(self.server.metrics)[1])[name]

    def test_two_hundred_subscribers_slow_nobody(self):
        alone = rate(self.server, SECONDS)
        memory = self.metric("process_resident_memory_bytes")
        with contextlib.ExitStack() as stack:
            for kind in ("quick", "slow", "frozen"):
                stack.enter_context(Crowd(self.server.grpc, kind, 50))
            vanishing = []

            def vanish() -> None:
                if vanishing:
                    vanishing[-1].vanish()
                    vanishing[-1].__exit__()
                vanishing.append(Crowd(self.server.grpc, "quick", 50).__enter__())

            crowded = rate(self.server, SECONDS, meanwhile=vanish)
            self.assertGreaterEqual(self.metric("millrace_service_subscribers"), 150)
            millrace_process.wait_for(
                "the frozen to be let go",
                lambda: self.metric("millrace_service_subscribers_cut_off_total") >= 50)
            more = (self.metric("process_resident_memory_bytes") - memory) / 1e6
            vanishing[-1].vanish()
            vanishing[-1].__exit__()
        print(f"{self.most:.1f}/s at most, alone {alone:.2f}/s, with 200 subscribers {crowded:.2f}/s, "
              f"{more:.0f} MB more, {len(vanishing)} times 50 vanished", file=sys.stderr)
        self.assertGreaterEqual(crowded, LEAST_RATE * alone)
        self.assertLess(more, MOST_MORE_MB)
        self.assertEqual(self.metric("millrace_service_frames_unaccounted"), 0)
        millrace_process.wait_for("all to be gone",
                                  lambda: self.metric("millrace_service_subscribers") == 0)


if __name__ == "__main__":
    unittest.main()
