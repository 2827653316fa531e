"""The whole server on a GPU that is made of software: what it learns there, and how it ends when the
GPU does."""

import pathlib
import signal
import tempfile
import unittest

import client
import millrace_process

EXIT_GPU = 3
EVERY = 100


class GpuTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="millrace."))

    def configuration(self, devices) -> dict:
        return millrace_process.config(
            streams=[millrace_process.test_stream("street", frames_per_second=200)],
            schedule={"stages": 2, "devices": devices},
            checkpoints={"folder": self.folder, "every": EVERY})

    def not_ready_after(self, fault: signal.Signals) -> str:
        """Why a server is not ready that meets the fault once it has a checkpoint. It stays, for
        those who ask, and once it is stopped its exit code says what it was."""
        with millrace_process.start(self.configuration("cuda")) as (process, _):
            server = millrace_process.stands(process)
            millrace_process.wait_for("a checkpoint", lambda: client.checkpoints_written(server) >= 1)
            process.send_signal(fault)
            probe = server.metrics.replace("/metrics", "/readyz")
            status, why = millrace_process.wait_for("the fault to be told", lambda: (
                answer := client.get(probe))[0] == 503 and answer)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(millrace_process.PATIENCE_S), EXIT_GPU)
        self.assertEqual(status, 503)
        return why

    def goes_on_after(self) -> int:
        """After how many frames the next server goes on."""
        with millrace_process.serve(self.configuration("cuda")) as server:
            return client.resumed_after("".join(server.output))

    def test_it_learns_there_and_says_where(self):
        for devices, named in (("cuda", "(cuda:0)"), (["cpu", "cuda:1"], "cuda:1)")):
            with self.subTest(devices):
                configuration = self.configuration(devices)
                del configuration["checkpoints"]
                with millrace_process.serve(configuration) as server, \
                        client.Subscriber(server.grpc) as subscriber:
                    subscriber.wait_for_predictions(50)
                    scrape = client.get(server.metrics)[1]
                self.assertRegex(scrape, r'millrace_pipeline_gpu_memory_bytes{device="cuda:\d",'
                                         r'kind="allocated"} [1-9]')
                self.assertIn(named, "".join(server.output))
                self.assertNotIn("kernel by kernel", "".join(server.output))
                self.assertTrue(client.books_of_summary(server.summary).balance())
                [stream] = server.summary["streams"]
                self.assertGreater(min(stream["updates"]), 0)

    def test_a_full_gpu_is_told_with_what_to_do_and_what_was_learned_is_kept(self):
        self.assertIn("the GPU's memory is full: take smaller", self.not_ready_after(signal.SIGUSR1))
        self.assertGreaterEqual(self.goes_on_after(), EVERY)

    def test_a_gpu_that_fails_is_told_with_what_to_do_and_what_was_learned_is_kept(self):
        self.assertIn("the GPU has failed: start again", self.not_ready_after(signal.SIGUSR2))
        self.assertGreaterEqual(self.goes_on_after(), EVERY)


if __name__ == "__main__":
    unittest.main()
