"""`millrace serve` as people and monitors see it while it runs, and `millrace watch` beside it.

tests/e2e/ has cameras, clients and the accounting of frames.
"""

import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from millrace_testing import millrace_process, terminal


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(
            millrace_process.serve(millrace_process.config(
                [millrace_process.test_stream("ball", frames_per_second=20)])))

    def test_banner_says_what_it_learns_and_how(self):
        banner = "".join(self.server.output)
        for part in ("millrace ", "test:ball", "optical flow at 64x64", "frames a second", "delay"):
            self.assertIn(part, banner)
        for part in ("2 stages on 2 threads", "staleness"):
            self.assertNotIn(part, banner)
        self.assertNotIn("\x1b", banner)

    def test_page_shows_the_stream(self):
        def learning():
            stream = json.loads(get(self.server.page + "/api/streams"))["streams"][0]
            return stream if stream["newest"] else None

        stream = millrace_process.wait_for("a prediction on the page", learning)
        self.assertEqual(stream["name"], "ball")
        self.assertEqual(stream["source"]["state"], "streaming")
        self.assertTrue(stream["learner"]["ok"])
        for picture in ("picture", "flow"):
            with urllib.request.urlopen(
                    f"{self.server.page}/streams/ball/{picture}.jpg", timeout=30) as answer:
                self.assertEqual(answer.headers["Content-Type"], "image/jpeg")
                self.assertEqual(answer.read()[:2], b"\xff\xd8")

    def test_probes_and_metrics_answer(self):
        monitor = self.server.metrics.removesuffix("/metrics")
        self.assertEqual(get(monitor + "/healthz"), "ok\n")
        self.assertTrue(get(monitor + "/readyz").startswith("ready\n"))
        self.assertIn('millrace_pipeline_updates_total{stream="ball"}',
                      get(self.server.metrics))

    def test_trace_shows_what_the_stages_have_just_done(self):
        def trace(query):
            return json.loads(get(self.server.metrics.removesuffix("/metrics") + "/debug/trace" + query))

        def all_have_worked():
            events = [event for event in trace("?stream=ball&seconds=3") if event["ph"] == "X"]
            kinds = {(event["cat"], event["args"]["stage"]) for event in events}
            return events if len(kinds) == 3 * 2 else None  # F, B and U of two stages.

        events = millrace_process.wait_for("operations of both stages", all_have_worked)
        ends = {}
        for event in events:  # A device does one thing after the other.
            self.assertGreaterEqual(event["ts"], ends.get(event["tid"], 0) - 0.002)
            ends[event["tid"]] = event["ts"] + event["dur"]
        self.assertEqual(len(ends), 2)
        samples = [event["args"]["sample"] for event in events if event["name"].startswith("F1")]
        self.assertEqual(samples, list(range(samples[0], samples[0] + len(samples))))
        with self.assertRaisesRegex(urllib.error.HTTPError, "404"):
            trace("?stream=yard")

    def test_watch_shows_predictions(self):
        watched = millrace_process.run("watch", self.server.grpc, "--count", "3")
        self.assertEqual(watched.returncode, 0, watched.stderr)
        self.assertEqual(len(watched.stdout.splitlines()), 3)
        self.assertRegex(watched.stdout, r"^ball  frame \d+  delay \d+ ms")

    def test_watch_writes_json_for_programs(self):
        watched = millrace_process.run("watch", self.server.grpc, "--json", "--count", "3")
        self.assertEqual(watched.returncode, 0, watched.stderr)
        lines = [json.loads(line) for line in watched.stdout.splitlines()]
        frames = [line["frame_number"] for line in lines]
        self.assertEqual(sorted(set(frames)), frames)
        for line in lines:
            self.assertEqual(line["stream"], "ball")
            self.assertGreater(line["delay_ms"], 0)
            self.assertLess(datetime.datetime.fromisoformat(line["arrival_time"]),
                            datetime.datetime.fromisoformat(line["emission_time"]))

    def test_watch_saves_pictures(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "pictures"
        watched = millrace_process.run(
            "watch", self.server.grpc, "--view", str(folder), "--json", "--count", "2")
        self.assertEqual(watched.returncode, 0, watched.stderr)
        self.assertEqual(
            sorted(path.name for path in folder.iterdir()),
            [f"ball-{json.loads(line)['frame_number']:09}.jpg" for line in watched.stdout.splitlines()])
        for path in folder.iterdir():
            self.assertTrue(path.read_bytes().startswith(b"\xff\xd8"))

    def test_watch_says_why_a_picture_cannot_be_saved(self):
        file = self.enterContext(tempfile.NamedTemporaryFile())
        watched = millrace_process.run("watch", self.server.grpc, "--view", file.name)
        self.assertEqual(watched.returncode, 1)
        self.assertIn(file.name, watched.stderr)

    def test_watch_names_the_streams_there_are(self):
        watched = millrace_process.run("watch", self.server.grpc, "--stream", "yard")
        self.assertEqual(watched.returncode, 1)
        self.assertIn("ball", watched.stderr)


class WatchTest(unittest.TestCase):
    """Two streams: all of them, unless one is named."""

    def setUp(self):
        self.server = self.enterContext(millrace_process.serve(millrace_process.config(
            [millrace_process.test_stream("gate"), millrace_process.test_stream("yard")])))

    def test_shows_all_streams(self):
        watched = millrace_process.run("watch", self.server.grpc, "--json", "--count", "2")
        self.assertEqual(watched.returncode, 0, watched.stderr)
        streams = [json.loads(line)["stream"] for line in watched.stdout.splitlines()]
        self.assertEqual(sorted(streams), ["gate", "gate", "yard", "yard"])

    def test_gives_each_a_line_of_a_terminal(self):
        seen = terminal.run("watch", self.server.grpc, "--count", "3", columns=60)
        self.assertEqual(seen.code, 0, seen.shown)
        self.assertEqual(len(seen.screen), 2 + 1, seen.screen)
        for line, name in zip(seen.screen, ("gate", "yard")):
            self.assertRegex(line, rf"^{name}  frame \d+")
        for line in seen.rewritten:
            self.assertLess(len(line), 60)


class WatchTroubleTest(unittest.TestCase):
    """The terminal's output for streams without predictions."""

    def setUp(self):
        self.server = self.enterContext(millrace_process.serve(millrace_process.config(
            [millrace_process.test_stream("gate"), {"name": "yard", "source": {"uri": "push:"}}])))

    def test_says_what_is_the_matter_and_for_how_long(self):
        process, screen = terminal.start("watch", self.server.grpc, columns=70)
        self.addCleanup(os.close, screen)
        self.addCleanup(process.kill)
        shown = terminal.read_until(screen, r"yard  source waiting, no prediction yet.*gate  frame \d+ ")
        urllib.request.urlopen(urllib.request.Request(
            self.server.page + "/api/streams/gate/pause", method="POST"), timeout=30).close()
        shown += terminal.read_until(screen, r"gate  learner paused, last prediction [1-9]\d* s ago")
        process.send_signal(signal.SIGINT)
        shown += terminal.read(screen)
        self.assertEqual(process.wait(millrace_process.PATIENCE_S), 0, shown)


class StartTest(unittest.TestCase):
    def test_a_stop_while_it_starts_ends_it_well(self):
        slow = millrace_process.config(model={"input": [1280, 960]})  # Its layers take seconds to measure.
        with millrace_process.start(slow) as (process, summary):
            output = []
            for line in process.stdout:
                output.append(line)
                if "measuring how fast" in line:
                    break
            code, took_s = millrace_process.end(process)
            output.append(process.stdout.read())
            self.assertEqual(code, 0, "".join(output))
            self.assertLessEqual(took_s, millrace_process.stop_limit_s())
            self.assertNotIn("open  ", "".join(output), "it had started before")
            self.assertEqual(json.loads(summary.read_text())["frames_received"], 0)

    def test_a_stop_while_it_reads_its_configuration_is_heard_at_once(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="millrace."))
        pipe = pathlib.Path(folder) / "millrace.yaml"
        os.mkfifo(pipe)
        output = []
        with subprocess.Popen([millrace_process.program(), "serve", "--config", str(pipe)], text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            with pipe.open("w", encoding="utf-8") as configuration:  # Waits for its reader.
                process.send_signal(signal.SIGTERM)
                for line in process.stdout:
                    output.append(line)
                    if "asked to terminate" in line:
                        break
                json.dump(millrace_process.config(), configuration)
            output.append(process.stdout.read())
            self.assertEqual(process.wait(millrace_process.PATIENCE_S), 0, "".join(output))
        self.assertNotIn("measuring how fast", "".join(output))


if __name__ == "__main__":
    unittest.main()
