"""Runs an image's command, as compose.yaml and Kubernetes do: as its user, with its own loopback. Only /tmp and the folder
of the learned weights can be written."""

import pathlib
import signal
import subprocess

from image import Image
from millrace_testing import millrace_process

LEARNED = "/var/lib/millrace"


class Container:
    """A context manager. At its end the program is stopped by SIGTERM, and must end well."""

    def __init__(self, image: Image, learned: pathlib.Path, log: pathlib.Path):
        """`learned` becomes its volume."""
        self._image = image
        self._log = log
        self.command = image.debian.command(
            *image.entrypoint, *image.command, folder=image.folder, environment=image.environment,
            options=(f"--user={image.user}", "--read-only", "--own-network", f"--bind={learned}={LEARNED}"))

    def __enter__(self) -> "Container":
        with self._log.open("w") as log:
            self._process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def __exit__(self, failed, *_) -> None:
        if failed:
            self._process.kill()
            self._process.wait()
            return
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(millrace_process.PATIENCE_S)
        if code:
            raise AssertionError(f"it ended with {code}:\n{self.said()}")

    def said(self) -> str:
        return self._log.read_text()

    def inside(self, *command: str) -> subprocess.CompletedProcess:
        """Runs a command beside it, as `docker exec` does."""
        if self._process.poll() is not None:
            raise AssertionError(f"it has ended with {self._process.returncode}:\n{self.said()}")
        variables = [f"{name}={value}" for name, value in self._image.environment.items()]
        return subprocess.run(
            ["nsenter", f"--target={self._process.pid}", "--mount", "--net", "--root",
             "/usr/sbin/chroot", f"--userspec={self._image.user}", "/",
             "/usr/bin/env", "-i", f"--chdir={self._image.folder}", "PATH=/usr/bin:/bin", *variables, *command],
            capture_output=True, text=True, check=False, timeout=millrace_process.PATIENCE_S)

    def is_healthy(self) -> bool:
        return self.inside(*self._image.health).returncode == 0
