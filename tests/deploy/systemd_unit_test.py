"""systemd accepts deploy/systemd/millrace.service, and the program does what the unit promises. The test starts it as
systemd does, with a notify socket and a watchdog."""

import configparser
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from millrace_testing import millrace_process
from millrace_testing.notify_socket import NotifySocket

UNIT = millrace_process.ROOT / "deploy/systemd/millrace.service"
DEVICES = {"camera.conf": {"char-video4linux:rw"},
           "gpu.conf": {"/dev/nvidia0:rw", "/dev/nvidiactl:rw", "/dev/nvidia-uvm:rw"}}


def with_program(folder: pathlib.Path, *drop_ins: str) -> pathlib.Path:
    """The unit, naming the program where it was built, and these beside it as systemd wants them."""
    text = UNIT.read_text()
    start = re.search(r"^ExecStart=(\S+)", text, re.MULTILINE)[1]
    unit = folder / UNIT.name
    unit.write_text(text.replace(start, str(pathlib.Path(millrace_process.program()).resolve())))
    beside = folder / f"{UNIT.name}.d"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    for name in drop_ins:
        shutil.copy(UNIT.parent / name, beside)
    return unit


def settings() -> dict[str, str]:
    """Of the unit's service."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(UNIT)
    return dict(unit["Service"])


class UnitTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def verify(self, unit: pathlib.Path) -> str:
        """What systemd says of it."""
        verified = subprocess.run(["systemd-analyze", "verify", unit],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(verified.returncode, 0)
        return verified.stdout + verified.stderr

    def judge(self, unit: pathlib.Path) -> str:
        judged = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
            capture_output=True, text=True, check=False)
        self.assertEqual(judged.returncode, 0, judged.stdout[-500:] + judged.stderr)
        return judged.stdout

    def test_systemd_has_nothing_to_say_of_it(self):
        self.assertEqual(sorted(path.name for path in UNIT.parent.glob("*.conf")), sorted(DEVICES))
        for drop_ins in ((), *((name,) for name in DEVICES), tuple(DEVICES)):
            with self.subTest(drop_ins):
                self.assertEqual(self.verify(with_program(self.folder, *drop_ins)), "")

    def test_systemd_looks_at_the_drop_ins(self):
        unit = with_program(self.folder)
        (self.folder / f"{UNIT.name}.d/wrong.conf").write_text("[Service]\nDeviceAllows=/dev/null\n")
        self.assertIn("Unknown key 'DeviceAllows'", self.verify(unit))

    def test_it_may_do_little(self):
        self.judge(with_program(self.folder))

    def test_a_drop_in_allows_its_devices_and_nothing_else(self):
        before = set(re.findall(r"\S+:rw?\b", self.judge(with_program(self.folder))))
        for name, devices in DEVICES.items():
            judged = self.judge(with_program(self.folder, name))
            self.assertEqual(set(re.findall(r"\S+:rw?\b", judged)) - before, devices)
            self.assertEqual("Service runs with supplementary groups" in judged, name == "camera.conf")

    def test_a_configuration_that_is_wrong_is_not_tried_again(self):
        wrong = self.folder / "wrong.yaml"
        wrong.write_text("version: 1\ncolour: blue\n")
        code = millrace_process.run("serve", "--config", str(wrong)).returncode
        self.assertIn(str(code), settings()["RestartPreventExitStatus"].split())

    def test_there_are_descriptors_for_many_clients(self):
        self.assertGreaterEqual(int(settings()["LimitNOFILE"]), 65536)

    def test_a_camera_that_is_killed_for_memory_ends_nothing_else(self):
        self.assertEqual(settings()["OOMPolicy"], "continue")

    def test_what_it_may_not_do_fails_and_does_not_kill_it(self):
        self.assertEqual(settings()["SystemCallErrorNumber"], "EPERM")

    def test_gstreamer_keeps_what_it_knows_in_the_cache(self):
        variable, _, folder = settings()["Environment"].partition("=")
        self.assertEqual(folder, f"%C/{settings()['CacheDirectory']}")
        cache = self.folder / "cache"
        configuration = self.folder / "millrace.yaml"
        configuration.write_text(json.dumps(millrace_process.config([millrace_process.test_stream("ball")])))
        served = millrace_process.run("serve", "--config", str(configuration), "--frames", "5",
                                      "--no-progress", env={**os.environ, variable: str(cache)})
        self.assertEqual(served.returncode, 0, served.stderr)
        self.assertTrue(list(cache.glob("gstreamer-1.0/registry.*")))

    def test_secrets_are_named_where_systemd_puts_them(self):
        for text in (UNIT.read_text(), (UNIT.parent / "README.md").read_text()):
            self.assertIn(f"/run/credentials/{UNIT.name}/", text)
            self.assertNotIn("${CREDENTIALS_DIRECTORY}/", text)

    def test_the_program_knows_its_arguments(self):
        _, command, *arguments = settings()["ExecStart"].split()
        known = millrace_process.run(command, "--help").stdout
        for argument in arguments:
            if argument.startswith("--"):
                self.assertIn(argument, known)


class NotifyTest(unittest.TestCase):
    def test_says_that_it_is_ready_that_it_lives_and_that_it_stops(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        systemd = self.enterContext(NotifySocket(folder))
        configuration = folder / "millrace.yaml"
        configuration.write_text(json.dumps(
            millrace_process.config([millrace_process.test_stream("ball", frames_per_second=20)])))
        with subprocess.Popen(
                [millrace_process.program(), "serve", "--config", configuration, "--no-progress"],
                cwd=millrace_process.ROOT, env=systemd.environment(), stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL) as process:
            try:
                systemd.await_line("READY=1")
                self.assertRegex("\n".join(systemd.said),
                                 r"STATUS=1 stream, [\d.]+ frames a second in, [\d.]+ predicted")
                for _ in range(3):
                    systemd.await_line("WATCHDOG=1")
                process.send_signal(signal.SIGTERM)
                systemd.await_line("STOPPING=1")
                self.assertEqual(process.wait(millrace_process.PATIENCE_S), 0)
            finally:
                process.kill()
        self.assertEqual(systemd.said.count("READY=1"), 1)

    def test_a_watchdog_of_another_process_is_none_of_its(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        systemd = self.enterContext(NotifySocket(folder))
        configuration = folder / "millrace.yaml"
        configuration.write_text(json.dumps(
            millrace_process.config([millrace_process.test_stream("ball", frames_per_second=20)])))
        subprocess.run(
            [millrace_process.program(), "serve", "--config", configuration, "--no-progress",
             "--frames", "60"],
            cwd=millrace_process.ROOT, env=systemd.environment(pid=1), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=True, timeout=millrace_process.PATIENCE_S)
        systemd.await_line("STOPPING=1")
        self.assertIn("READY=1", systemd.said)
        self.assertNotIn("WATCHDOG=1", systemd.said)

    def test_a_service_that_nobody_listens_to_meanwhile_is_not_held_up(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        systemd = self.enterContext(NotifySocket(folder))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service:
            service.settimeout(millrace_process.PATIENCE_S)
            for number in range(100):
                service.sendto(f"STATUS={number}".encode(), str(systemd.path))
            systemd.await_line("STATUS=50")
            systemd.forget()
            self.assertEqual(systemd.said, [])
            service.sendto(b"STATUS=the first after that", str(systemd.path))
            systemd.await_status()
        self.assertEqual(systemd.said, ["STATUS=the first after that"])


if __name__ == "__main__":
    unittest.main()
