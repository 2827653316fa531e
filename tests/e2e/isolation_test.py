"""Five cameras in one server: whatever happens to four of them has no effect on the fifth."""

import contextlib
import socket
import statistics
import sys
import threading
import unittest

from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera

PREDICTIONS = 60
RATE = 10
# What a shared machine does by itself: to a delay that stays as it is, and to one of twenty.
MAX_DELAY_RATIO = 1.5
MEDIAN_MORE_MS = 10
TAIL_MORE_MS = 1000 / RATE


def camera(rate: int) -> RtspCamera:
    return RtspCamera("--width", "64", "--height", "64", "--fps", str(rate), "--gop", "10",
                      "--pattern", "ball")  # fmt: skip


class Garbage:
    """A camera that answers every request with bytes that are no RTSP. A context manager."""

    def __init__(self):
        self.answers = 0
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()
        self.url = f"rtsp://127.0.0.1:{self._socket.getsockname()[1]}/live"

    def __enter__(self) -> "Garbage":
        return self

    def __exit__(self, *_) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _answer(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(4096)
                    connection.sendall(b"RTSP/1.0 200 OK\r\nContent-Length: 99999999\r\n\r\n")
                    connection.sendall(bytes(range(256)) * 4096)
                self.answers += 1


def config(urls: dict[str, str]) -> dict:
    """A server of these cameras, without a limit by max_fps."""
    return millrace_process.config(
        streams=[{"name": name, "source": {"uri": url}} for name, url in urls.items()])


def delays_ms(predictions: list) -> tuple[float, float]:
    """The median, and what one of twenty exceeds."""
    delays = sorted(p.delay.ToMilliseconds() for p in predictions)
    return statistics.median(delays), delays[len(delays) * 95 // 100]


class IsolationTest(unittest.TestCase):
    def test_bad_cameras_leave_a_good_one_alone(self):
        with contextlib.ExitStack() as stack:
            good, killed, frozen = (stack.enter_context(camera(RATE)) for _ in range(3))
            flooding = stack.enter_context(camera(RATE))
            garbage = stack.enter_context(Garbage())
            server = stack.enter_context(millrace_process.serve(config(
                {"good": good.url, "killed": killed.url, "frozen": frozen.url,
                 "flooding": flooding.url, "garbage": garbage.url})))  # fmt: skip
            auditor = stack.enter_context(client.Auditor(server, stream="good"))
            others = [stack.enter_context(client.Subscriber(server.grpc, name))
                      for name in ("killed", "frozen", "flooding")]
            subscriber = stack.enter_context(client.Subscriber(server.grpc, "good"))
            for other in others:
                other.wait_for_predictions(5)
            subscriber.wait_for_predictions(PREDICTIONS)
            before = subscriber.predictions[-PREDICTIONS:]

            killed.kill()
            frozen.freeze()
            flooding.kill()
            flooding.come_back("--width", "64", "--height", "64", "--fps", "500", "--gop", "10")
            for name in ("killed", "frozen"):
                auditor.wait_for_state("BACKING_OFF", "CONNECTING", stream=name)
            millrace_process.wait_for("the flood", lambda: auditor.stream("flooding").epoch >= 1)
            millrace_process.wait_for("the garbage", lambda: garbage.answers)
            received = auditor.stream("flooding").frames.received
            subscriber.wait_for_predictions(PREDICTIONS)
            during = subscriber.predictions[-PREDICTIONS:]

            flood = auditor.stream("flooding").frames.received - received
            states = {name: auditor.state(name) for name in ("good", "flooding", "garbage")}
            stream = auditor.stream("good")
            frozen.thaw()
            auditor.finish()
            millrace_process.stop(server)
        self.assertEqual(auditor.wrong, [])
        # The four did what they are here for.
        self.assertGreater(flood, 5 * PREDICTIONS, "far more than of the good one")
        self.assertEqual((states["good"], states["flooding"]), ("STREAMING", "STREAMING"))
        self.assertIn(states["garbage"], ("BACKING_OFF", "CONNECTING"))
        # And the fifth did not notice.
        self.assertEqual(stream.reconnects, 0)
        self.assertEqual({p.epoch for p in before + during}, {0})
        numbers = [p.frame_number for p in subscriber.predictions]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))), "none is lost")
        (median_before, tail_before), (median, tail) = delays_ms(before), delays_ms(during)
        print(f"median {median_before} ms, then {median} ms; 95 % within {tail_before} ms, then {tail} ms; "
              f"the flood: {flood} frames", file=sys.stderr)
        self.assertLess(median, MAX_DELAY_RATIO * median_before + MEDIAN_MORE_MS)
        self.assertLess(tail, MAX_DELAY_RATIO * tail_before + TAIL_MORE_MS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
