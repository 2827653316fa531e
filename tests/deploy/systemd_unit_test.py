"""deploy/systemd/millrace.service is one that systemd accepts, and the program keeps what it promises: it is started
here as systemd starts it, with a socket to notify and a watchdog."""

import configparser
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

import millrace_process
from notify_socket import Manager

UNIT = millrace_process.ROOT / "deploy/systemd/millrace.service"


def with_program(folder: pathlib.Path) -> pathlib.Path:
    """The unit, naming the program where it was built."""
    text = UNIT.read_text()
    start = re.search(r"^ExecStart=(\S+)", text, re.MULTILINE)[1]
    unit = folder / UNIT.name
    unit.write_text(text.replace(start, str(pathlib.Path(millrace_process.program()).resolve())))
    return unit


class UnitTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_systemd_has_nothing_to_say_of_it(self):
        verify = subprocess.run(["systemd-analyze", "verify", with_program(self.folder)],
                                capture_output=True, text=True, check=False)
        self.assertEqual((verify.returncode, verify.stdout + verify.stderr), (0, ""))

    def test_it_may_do_little(self):
        judged = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20",
             with_program(self.folder)], capture_output=True, text=True, check=False)
        self.assertEqual(judged.returncode, 0, judged.stdout[-500:] + judged.stderr)

    def test_the_program_knows_its_arguments(self):
        unit = configparser.ConfigParser(strict=False, interpolation=None)
        unit.optionxform = str
        unit.read(UNIT)
        _, command, *arguments = unit["Service"]["ExecStart"].split()
        known = millrace_process.run(command, "--help").stdout
        for argument in arguments:
            if argument.startswith("--"):
                self.assertIn(argument, known)


class NotifyTest(unittest.TestCase):
    def test_says_that_it_is_ready_that_it_lives_and_that_it_stops(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        manager = self.enterContext(Manager(folder))
        configuration = folder / "millrace.yaml"
        configuration.write_text(json.dumps(
            millrace_process.config([millrace_process.test_stream("ball", frames_per_second=20)])))
        with subprocess.Popen(
                [millrace_process.program(), "serve", "--config", configuration, "--no-progress"],
                cwd=millrace_process.ROOT, env=manager.environment(), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as process:
            try:
                manager.await_line("READY=1")
                self.assertRegex("\n".join(manager.said),
                                 r"STATUS=1 stream, [\d.]+ frames a second in, [\d.]+ predicted")
                for _ in range(3):
                    manager.await_line("WATCHDOG=1")
                process.send_signal(signal.SIGTERM)
                manager.await_line("STOPPING=1")
                self.assertEqual(process.wait(millrace_process.PATIENCE_S), 0)
            finally:
                process.kill()
        self.assertEqual(manager.said.count("READY=1"), 1)

    def test_a_watchdog_of_another_process_is_none_of_its(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        manager = self.enterContext(Manager(folder))
        configuration = folder / "millrace.yaml"
        configuration.write_text(json.dumps(
            millrace_process.config([millrace_process.test_stream("ball", frames_per_second=20)])))
        subprocess.run(
            [millrace_process.program(), "serve", "--config", configuration, "--no-progress",
             "--frames", "60"],
            cwd=millrace_process.ROOT, env=manager.environment(pid=1), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=True, timeout=millrace_process.PATIENCE_S)
        manager.await_line("STOPPING=1")
        self.assertIn("READY=1", manager.said)
        self.assertNotIn("WATCHDOG=1", manager.said)


if __name__ == "__main__":
    unittest.main()
