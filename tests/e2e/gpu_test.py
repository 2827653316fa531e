"""The whole server on a software GPU: how it learns, and how it ends when the GPU fails."""

import os
import pathlib
import signal
import tempfile
import unittest
from unittest import mock

from millrace_testing import client, millrace_process
from millrace_testing.notify_socket import NotifySocket

EXIT_GPU = 3
EVERY = 100


class GpuTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="millrace."))

    def configuration(self, devices) -> dict:
        return millrace_process.config(
            streams=[millrace_process.test_stream("street", frames_per_second=50)],
            schedule={"stages": 2, "devices": devices},
            checkpoints={"folder": self.folder, "every": EVERY})

    def not_ready_after(self, fault: signal.Signals) -> str:
        """The reason that a server gives for not being ready, after a fault that comes after its first
        checkpoint. The server stays to report it. When it is stopped, its exit code shows the cause."""
        with millrace_process.start(self.configuration("cuda")) as (process, _):
            server = millrace_process.stands(process)
            millrace_process.wait_for("a checkpoint", lambda: client.checkpoints_written(server) >= 1)
            self.assertEqual(client.get(server.metrics.replace("/metrics", "/healthz")), (200, "ok\n"))
            process.send_signal(fault)
            why = self.says_503(server, "/readyz")
            # The next process resumes: the supervisor of this one is told to start it.
            self.assertRegex(self.says_503(server, "/healthz"), "street: the learner failed: .*the GPU")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(millrace_process.PATIENCE_S), EXIT_GPU)
        return why

    def says_503(self, server: millrace_process.Server, path: str) -> str:
        """What a probe says once it is 503."""
        probe = server.metrics.replace("/metrics", path)
        return millrace_process.wait_for(f"{path} to tell of the fault", lambda: (
            answer := client.get(probe))[0] == 503 and answer[1])

    def goes_on_after(self) -> int:
        """After how many frames the next server goes on."""
        with millrace_process.serve(self.configuration("cuda")) as server:
            return client.resumed_after("".join(server.output))

    def test_it_learns_there_and_says_where(self):
        for devices, named in (("cuda", "  on        cuda\n"), (["cpu", "cuda:1"], "  on        cpu, cuda:1\n")):
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

    def test_systemd_hears_no_more_that_it_lives_once_its_gpu_has_failed(self):
        systemd = self.enterContext(NotifySocket(pathlib.Path(self.folder)))
        with mock.patch.dict(os.environ, systemd.environment()), \
                millrace_process.start(self.configuration("cuda")) as (process, _):
            server = millrace_process.stands(process)
            systemd.await_line("WATCHDOG=1")
            process.send_signal(signal.SIGUSR2)
            self.says_503(server, "/healthz")
            systemd.forget()
            systemd.await_status()  # Seconds later each, and the watchdog wants to hear every one.
            systemd.await_status()
            self.assertNotIn("WATCHDOG=1", systemd.said)


if __name__ == "__main__":
    unittest.main()
