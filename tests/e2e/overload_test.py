"""A camera sends more than its model has time for: log, page, metrics and clients say so, with values that end it."""

import contextlib
import json
import os
import subprocess
import unittest

from millrace import EventKind, OverloadKind
import millrace
from millrace_testing import client, millrace_process, terminal

# More than any machine that runs these tests predicts at these sizes.
FAST = 200
FASTEST = 800
LARGE = [320, 240]
SMALL = [64, 64]


def gate(frames_per_second: int, size: list[int], schedule: dict, **source) -> dict:
    stream = millrace_process.test_stream("gate", frames_per_second, model={"input": size}, schedule=schedule)
    return {**stream, "source": {**stream["source"], **source}}


class OverloadTest(unittest.TestCase):
    def start(self, stream: dict) -> None:
        self.server = self.enterContext(millrace_process.serve(millrace_process.config([stream])))
        self.client = self.enterContext(millrace.Client(self.server.grpc))
        self.events = self.client.watch("gate")

    def next_overload(self) -> millrace.StreamEvent:
        """The next event that says that the overload has changed."""
        return next(event for event in self.events if event.kind is EventKind.OVERLOAD)

    def metric(self, name: str) -> float:
        return client.of_stream(client.get(self.server.metrics)[1], name, "gate")

    def on_the_page(self) -> dict:
        [stream] = json.loads(client.get(f"{self.server.page}/api/streams")[1])["streams"]
        return stream

    def logged(self, text: str) -> list[str]:
        return [line for line in self.server.output if text in line]

    @contextlib.contextmanager
    def watched(self):
        """`millrace watch`, on a terminal, whose end is given."""
        process, end = terminal.start("watch", self.server.grpc, columns=400)
        try:
            yield end
        finally:
            process.terminate()
            process.wait(millrace_process.PATIENCE_S)
            os.close(end)

    @contextlib.contextmanager
    def piped(self):
        """What `millrace watch --json` says to programs beside the predictions."""
        with subprocess.Popen([millrace_process.program(), "watch", self.server.grpc, "--json"], text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            try:
                yield process.stderr
            finally:
                process.kill()

    def told(self) -> millrace.StreamStatus:
        """What a client of predictions is told first."""
        said: list[millrace.StreamStatus] = []
        with self.client.predictions("gate", on_status=said.append) as predictions:
            next(predictions)
        return said[0]

    def test_is_said_once_everywhere_and_ends_as_the_remedy_says(self):
        stream = gate(FAST, LARGE, {"kind": "sequential", "stages": 1})
        self.start(stream)
        event = self.next_overload()
        self.assertIs(event.overload, OverloadKind.DROPS)
        self.assertRegex(event.overload_cause, r"^drops \d+\.\d of \d+\.\d frames a second$")
        self.assertRegex(event.overload_remedy, r"^every frame is predicted and learned from with .*source.max_fps: \d")

        answer = self.client.stream("gate")
        said = answer.message.overload
        self.assertIs(answer.overload, OverloadKind.DROPS)
        self.assertAlmostEqual(said.frames_per_second_in, FAST, delta=FAST / 4)
        self.assertAlmostEqual(said.frames_per_second_in - said.predictions_per_second,
                               said.dropped_per_second, delta=2)
        self.assertGreater(said.max_fps, 0)
        self.assertLess(said.max_fps, said.predictions_per_second)
        if said.HasField("input"):
            self.assertEqual((said.input.width % 16, said.input.height % 16), (0, 0))
            self.assertAlmostEqual(said.input.width / said.input.height, 4 / 3, delta=0.2)
        self.assertEqual(self.metric("millrace_service_overload"), OverloadKind.DROPS.value)
        page = self.on_the_page()["overload"]
        self.assertEqual((page["kind"], page["remedy"][:36]), ("drops", answer.overload_remedy[:36]))
        with self.watched() as end:
            terminal.read_until(end, r"gate  drops .* frames a second, frame .*source\.max_fps: ")
        with self.piped() as errors:
            self.assertRegex(errors.readline(), r"^gate  drops .* frames a second: .*source\.max_fps: ")
        told = self.told()
        self.assertIs(told.overload, OverloadKind.DROPS)
        self.assertRegex(str(told), r"^gate: drops .* frames a second: .*source\.max_fps: ")
        self.assertIs(self.client.latest("gate").status.overload, OverloadKind.DROPS)
        self.assertEqual(len(self.logged("overload: it drops")), 1, self.server.output)
        self.assertIn("source.max_fps: ", self.logged("overload: it drops")[0])

        run_id = answer.run_id
        self.client.update_stream("gate", gate(FAST, LARGE, stream["schedule"], max_fps=said.max_fps))
        self.assertIs(self.next_overload().overload, OverloadKind.NONE)
        self.assertFalse(self.told().gives_up)
        answer = self.client.stream("gate")
        self.assertEqual((answer.overload_cause, answer.overload_remedy, answer.run_id), ("", "", run_id))
        self.assertEqual(self.metric("millrace_service_overload"), OverloadKind.NONE.value)
        self.assertEqual(self.on_the_page()["overload"]["kind"], "none")
        self.assertEqual(len(self.logged("the overload is over")), 1)
        self.assertEqual(len(self.logged("overload: it drops")), 1)

    def test_learning_that_was_given_up_is_said(self):
        self.start(gate(FASTEST, SMALL, {"kind": "auto", "frames_per_second": 10, "stages": 2}))
        self.assertGreater(self.next_overload().overload.value, OverloadKind.NONE.value)
        answer = self.client.stream("gate")
        self.assertNotEqual(answer.overload_cause, "")
        self.assertIn("source.max_fps: ", answer.overload_remedy)
        self.assertNotEqual(self.metric("millrace_pipeline_update_every"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
