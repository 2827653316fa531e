"""Connections end because they are old, or because the network breaks silently: `millrace watch` and the sample
clients continue, and the server drops the lost connections."""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Iterator

from millrace import SourceState
import millrace
from millrace_testing import client, millrace_process, network
import numpy as np

SUBSCRIBE_PY = millrace_process.ROOT / "samples/python/subscribe.py"
_FRAME = re.compile(r"frame (\d+)  delay")
# What docs/streams.md and docs/reliability.md promise, and what a busy machine may take on top. (A gRPC
# that is not told of its own pings takes up to 40 on top.)
SERVER_NOTICES_S = 40
CLIENT_NOTICES_S = 80
SLACK_S = 20


class Follower:
    """A program that prints a prediction a line, behind its own network."""

    def __init__(self, stack: contextlib.ExitStack, server: str, command: list[str],
                 *arguments: str):
        self.network = stack.enter_context(network.Network(server))
        self.frames: list[int] = []
        self.other: list[str] = []  # Lines that are no predictions.
        self._process = stack.enter_context(subprocess.Popen(
            [*command, self.network.address, *arguments], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT))
        stack.callback(self._process.kill)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._process.stdout:
            if line.startswith("{"):
                self.frames.append(json.loads(line)["frame_number"])
            elif match := _FRAME.match(line):
                self.frames.append(int(match[1]))
            else:
                self.other.append(line)

    def ended(self) -> bool:
        return self._process.poll() is not None

    def wait_for_frames(self, more: int) -> None:
        enough = len(self.frames) + more
        millrace_process.wait_for(f"{more} more frames",
                                  lambda: len(self.frames) >= enough or self.ended())
        assert len(self.frames) >= enough, self.other

    def wait_for_second_connection(self) -> None:
        millrace_process.wait_for("a second connection",
                                  lambda: self.network.connections > 1 or self.ended())
        assert self.network.connections > 1, self.other

    def end(self) -> int:
        """Waits for its end, and returns its exit code."""
        code = self._process.wait(millrace_process.PATIENCE_S)
        self._thread.join()
        return code

    def kill(self) -> None:
        """Ends it wherever it is."""
        self._process.kill()
        self.end()


class ConnectionsTest(unittest.TestCase):
    def setUp(self):
        self.stack = self.enterContext(contextlib.ExitStack())

    def serve(self, *streams: dict, **listen) -> millrace_process.Server:
        configuration = millrace_process.config(
            streams=[millrace_process.test_stream("door", frames_per_second=10), *streams])
        configuration["listen"] |= listen
        return self.stack.enter_context(millrace_process.serve(configuration))

    def follow(self, server: str, *watch: str) -> dict[str, Follower]:
        """All clients that resume, each with a prediction."""
        followers = {
            "watch": Follower(self.stack, server, [millrace_process.program(), "watch", "--json",
                                                   "--stream", "door", *watch]),
            "c++": Follower(self.stack, server, [os.environ["MILLRACE_SUBSCRIBE"]], "door"),
            "python": Follower(self.stack, server, [sys.executable, str(SUBSCRIBE_PY)], "door"),
        }
        for follower in followers.values():
            follower.wait_for_frames(1)
        return followers

    def judge(self, name: str, follower: Follower) -> None:
        self.assertEqual(follower.end(), 0, f"{name}: {follower.other}")
        self.judge_output(name, follower)

    def judge_output(self, name: str, follower: Follower) -> None:
        self.assertEqual(follower.other, [], name)
        self.assertEqual(follower.frames, sorted(set(follower.frames)), name)

    def test_clients_go_on_when_their_connection_is_old(self):
        # After a second, give or take a tenth, it takes no more calls; five later it is over.
        server = self.serve(connection_age_s=1)
        followers = self.follow(server.grpc, "--count", "100")
        watch = followers.pop("watch")
        self.judge("watch", watch)
        self.assertEqual(len(watch.frames), 100)
        self.assertGreater(watch.network.connections, 1)
        for follower in followers.values():
            follower.wait_for_second_connection()
            follower.wait_for_frames(10)
        for name, follower in followers.items():
            follower.kill()  # To delete the stream might find one between two connections.
            self.judge_output(name, follower)

    def test_a_network_that_breaks_without_a_word_is_noticed_at_both_ends(self):
        server = self.serve({"name": "pushed", "source": {"uri": "push:"}})
        followers = self.follow(server.grpc)
        wires, user = self.push_a_little(server.grpc)
        with millrace.Client(server.grpc) as judge:
            millrace_process.wait_for("the frames", lambda: judge.stream("pushed").frames.received == 3)
            self.assertEqual({follower.network.connections for follower in followers.values()}, {1})
            begin = time.monotonic()
            for each in (wires, *(follower.network for follower in followers.values())):
                each.lose_all()
            # Only the keepalive tells a silent pushing client from a lost one.
            millrace_process.wait_for("the pusher's place to be free", lambda: judge.stream(
                "pushed").source_state is SourceState.WAITING)
            self.assertLess(time.monotonic() - begin, SERVER_NOTICES_S + SLACK_S)
            for name, follower in followers.items():
                with self.subTest(name):
                    follower.wait_for_second_connection()
                    self.assertLess(time.monotonic() - begin, CLIENT_NOTICES_S + SLACK_S)
            for follower in followers.values():
                follower.wait_for_frames(10)
            millrace_process.wait_for("those that are lost to be let go", lambda: client.sums(
                client.get(server.metrics)[1])["millrace_service_subscribers"] == 3)
            judge.delete_stream("door")
        for name, follower in followers.items():
            self.judge(name, follower)
        user.close()

    def push_a_little(self, server: str) -> tuple[network.Network, millrace.Client]:
        """Pushes three frames, and then says nothing for as long as the client lives."""
        wires = self.stack.enter_context(network.Network(server))
        user = self.stack.enter_context(millrace.Client(wires.address))
        closed = threading.Event()
        self.stack.callback(closed.set)

        def frames() -> Iterator[np.ndarray]:
            for shade in (0, 100, 200):
                yield np.full((64, 64), shade, np.uint8)
            closed.wait()

        def push() -> None:
            with contextlib.suppress(millrace.MillraceError):
                for _ in user.push("pushed", frames()):
                    pass

        threading.Thread(target=push, daemon=True).start()
        return wires, user


if __name__ == "__main__":
    unittest.main(verbosity=2)
