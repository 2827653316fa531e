"""Cameras with decoding processes: whatever happens to these processes, the server continues."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from millrace_testing import client, millrace_process
from millrace_testing.rtsp_camera import RtspCamera
from process_tree import children

RATE = 10
RESTARTS = 100
USER = "viewer"
WORD = "plum/cake+4711"
VARIABLE = "MILLRACE_TEST_CAMERA_PASSWORD"


def camera(*arguments: str) -> RtspCamera:
    return RtspCamera("--width", "64", "--height", "64", "--fps", str(RATE), "--gop", "5",
                      "--pattern", "ball", *arguments)  # fmt: skip


def config(**streams: dict) -> dict:
    return millrace_process.config(
        streams=[{"name": name, "source": source} for name, source in streams.items()])


def isolated(url: str, **keys) -> dict:
    return {"uri": url, "isolate": True, **keys}


def spawner(server: millrace_process.Server) -> int:
    """The server's only child."""
    (pid,) = children(server.process.pid)
    return pid


def processes(server: millrace_process.Server) -> list[int]:
    return children(spawner(server))


def is_alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def wait_for_process(server: millrace_process.Server, other_than: int = 0) -> int:
    """The one process of a server with one isolated camera."""
    def found():
        pids = processes(server)
        return pids[0] if len(pids) == 1 and pids[0] != other_than else None
    return millrace_process.wait_for("the camera's process", found)


class CameraProcessesTest(unittest.TestCase):
    def test_what_ends_a_process_harms_no_other_stream(self):
        with contextlib.ExitStack() as stack:
            good, victim = (stack.enter_context(camera()) for _ in range(2))
            server = stack.enter_context(millrace_process.serve(config(
                good={"uri": good.url, "isolate": False}, victim=isolated(victim.url))))  # fmt: skip
            auditor = stack.enter_context(client.Auditor(server, stream="good"))
            subscriber = stack.enter_context(client.Subscriber(server.grpc, "good"))
            of_victim = stack.enter_context(client.Subscriber(server.grpc, "victim"))
            of_victim.wait_for_predictions(1)
            for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGXCPU):
                pid = wait_for_process(server)
                epoch = of_victim.epoch()
                os.kill(pid, number)
                of_victim.wait_for_predictions(1, epoch_above=epoch)
            subscriber.wait_for_predictions(RATE)
            stream = auditor.stream("good")
            auditor.finish()
            millrace_process.stop(server)
        self.assertEqual(auditor.wrong, [])
        said = "".join(server.output)
        self.assertIn("its process was ended (SIGKILL)", said)
        self.assertIn("its process crashed (SIGSEGV)", said)
        self.assertIn("its process gave up (SIGABRT)", said)
        # A model on a busy machine may be too slow for some of its frames; the camera is not lost.
        self.assertEqual(stream.reconnects, 0)
        self.assertEqual({p.epoch for p in subscriber.predictions}, {0})

    def test_restarts_leave_nothing_behind(self):
        with contextlib.ExitStack() as stack:
            source = stack.enter_context(camera())
            server = stack.enter_context(millrace_process.serve(config(
                camera=isolated(source.url, backoff_ms=[1, 20]))))  # fmt: skip
            pid = wait_for_process(server)
            pids = (server.process.pid, spawner(server))
            before = [open_files(one) for one in pids]
            for _ in range(RESTARTS):
                os.kill(pid, signal.SIGKILL)
                pid = wait_for_process(server, other_than=pid)
            subscriber = stack.enter_context(client.Subscriber(server.grpc, "camera"))
            subscriber.wait_for_predictions(3)
            # What a session opens and closes meanwhile may be seen.
            millrace_process.wait_for(
                "as many open files as before",
                lambda: all(open_files(one) <= files + 3 for one, files in zip(pids, before, strict=True)))
            self.assertEqual(len(processes(server)), 1)
            self.assertEqual(children(server.process.pid), [pids[1]])

    def test_all_end_with_the_server(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number), camera() as source, millrace_process.start(
                    config(camera=isolated(source.url))) as (process, _):  # fmt: skip
                server = millrace_process.stands(process)
                mine = [spawner(server), wait_for_process(server)]
                os.kill(process.pid, number)
                process.wait()
                millrace_process.wait_for("the end of all", lambda: not any(map(is_alive, mine)))

    def test_a_server_that_can_start_no_more_processes_is_not_alive(self):
        with millrace_process.start(config(camera={"uri": "test:ball"})) as (process, _):
            server = millrace_process.stands(process)
            healthz = server.metrics.replace("/metrics", "/healthz")
            self.assertEqual(client.get(healthz)[0], 200)
            os.kill(spawner(server), signal.SIGKILL)
            millrace_process.wait_for("503", lambda: client.get(healthz)[0] == 503)
            self.assertIn("the process that starts those of cameras has ended; restart this server",
                          client.get(healthz)[1])
            millrace_process.end(process)

    def test_a_terminal_that_interrupts_all_ends_all_in_good_order(self):
        with camera() as source, millrace_process.start(
                config(camera=isolated(source.url))) as (process, summary):  # fmt: skip
            server = millrace_process.stands(process)
            mine = [spawner(server), wait_for_process(server)]
            for pid in [*mine, process.pid]:
                os.kill(pid, signal.SIGINT)
            self.assertEqual(process.wait(), 0)
            self.assertTrue(summary.exists())
            millrace_process.wait_for("the end of all", lambda: not any(map(is_alive, mine)))

    def test_a_process_that_is_stopped_is_a_camera_that_is_silent(self):
        with camera() as source, millrace_process.serve(
                config(camera=isolated(source.url, stall_timeout_ms=500))) as server:  # fmt: skip
            with client.Subscriber(server.grpc, "camera") as subscriber:
                subscriber.wait_for_predictions(1)
                pid, epoch = wait_for_process(server), subscriber.epoch()
                os.kill(pid, signal.SIGSTOP)
                subscriber.wait_for_predictions(1, epoch_above=epoch)
                millrace_process.wait_for("the end of what is stopped", lambda: not is_alive(pid))

    def test_a_password_is_in_no_process(self):
        os.environ[VARIABLE] = WORD
        self.addCleanup(os.environ.pop, VARIABLE)
        with camera("--user", USER, "--password", WORD) as source:
            with millrace_process.serve(config(
                    camera=isolated(source.url, user=USER, password_env=VARIABLE))) as server:
                with client.Subscriber(server.grpc, "camera") as subscriber:
                    subscriber.wait_for_predictions(1)
                pids = (spawner(server), wait_for_process(server))
                shown = [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids]
                environments = [pathlib.Path(f"/proc/{pid}/environ").read_bytes() for pid in pids]
                of_server = pathlib.Path(f"/proc/{server.process.pid}/environ").read_bytes()
        self.assertEqual([name.rstrip(b"\0") for name in shown], [b"millrace spawner", b"millrace camera"])
        self.assertIn(WORD.encode(), of_server)
        for environment in environments:
            self.assertNotIn(WORD.encode(), environment)
            self.assertIn(b"PATH=", environment)

    def test_a_server_without_standard_streams_serves(self):
        with camera() as source, tempfile.TemporaryDirectory() as name:
            written = pathlib.Path(name, "millrace.yaml")
            written.write_text(json.dumps(config(camera=isolated(source.url))))
            summary = pathlib.Path(name, "summary.json")
            command = [millrace_process.program(), "serve", "--config", str(written),
                       "--summary-json", str(summary), "--frames", "5"]
            code = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command],
                                  timeout=millrace_process.PATIENCE_S, check=False).returncode
            self.assertEqual(code, 0)
            self.assertTrue(summary.exists())

    def test_a_process_is_confined(self):
        with camera() as source, millrace_process.serve(config(camera=isolated(source.url))) as server:
            pid = wait_for_process(server)
            with client.Subscriber(server.grpc, "camera") as subscriber:
                subscriber.wait_for_predictions(1)
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertRegex(limits, r"Max open files +64 +64")
        self.assertRegex(limits, r"Max core file size +0 +0")
        self.assertNotRegex(limits, r"Max data size +unlimited")


if __name__ == "__main__":
    unittest.main(verbosity=2)
