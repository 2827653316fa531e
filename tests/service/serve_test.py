"""`millrace serve` as people and monitors see it while it runs, and `millrace watch` beside it.

tests/e2e/ has cameras, clients and the accounting of frames.
"""

import json
import unittest
import urllib.request

import millrace_process


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
        for part in ("millrace ", "test:ball", "optical flow at 64x64", "2 stages on 2 threads",
                     "frames a second", "staleness"):
            self.assertIn(part, banner)
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
        self.assertIn('millrace_pipeline_updates_total{stream="ball",stage="2"}',
                      get(self.server.metrics))

    def test_watch_shows_predictions(self):
        watched = millrace_process.run("watch", self.server.grpc, "--count", "3")
        self.assertEqual(watched.returncode, 0, watched.stderr)
        self.assertEqual(len(watched.stdout.splitlines()), 3)
        self.assertRegex(watched.stdout, r"^ball  frame \d+  delay \d+ ms")

    def test_watch_names_the_streams_there_are(self):
        watched = millrace_process.run("watch", self.server.grpc, "--stream", "yard")
        self.assertEqual(watched.returncode, 1)
        self.assertIn("ball", watched.stderr)


class StartTest(unittest.TestCase):
    def test_a_stop_while_it_starts_ends_it_well(self):
        slow = millrace_process.config(model={"input": [1280, 960]})  # Its layers take seconds to measure.
        with millrace_process.start(slow) as (process, summary):
            output = []
            for line in process.stdout:
                output.append(line)
                if "measuring the layers" in line:
                    break
            code, took_s = millrace_process.end(process)
            output.append(process.stdout.read())
            self.assertEqual(code, 0, "".join(output))
            self.assertLessEqual(took_s, millrace_process.stop_limit_s())
            self.assertNotIn("open  ", "".join(output), "it had started before")
            self.assertEqual(json.loads(summary.read_text())["frames_received"], 0)


if __name__ == "__main__":
    unittest.main()
