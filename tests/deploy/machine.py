"""An operator's machine: a bare Debian 12 with the packages that deploy/runtime-packages lists."""

import os
import pathlib
import subprocess

from bare_debian import BareDebian
from millrace_testing.millrace_process import ROOT
from millrace_testing.notify_socket import NotifySocket

# The folders that systemd makes for the service.
_ETC, _LEARNED, _RUN = "etc/millrace", "var/lib/millrace", "run/millrace"
# Like systemd's DynamicUser, which owns no files.
_USER = 61184


class Machine:
    """One such machine, in `folder`. Only where there can be a bare Debian."""

    def __init__(self, folder: pathlib.Path):
        self._debian = BareDebian(folder / "debian")
        self._root = self._debian.root
        for name in (_ETC, _LEARNED, _RUN):
            (self._root / name).mkdir(parents=True)
        os.chown(self._root / _LEARNED, _USER, _USER)

    def install(self) -> None:
        """The tree, moved from where it was put, and the packages that it needs."""
        put = self._root / "package"
        subprocess.run([ROOT / "tools/install", "/opt/millrace"], check=True, capture_output=True,
                       env={**os.environ, "DESTDIR": str(put)})
        tree = (put / "opt/millrace").rename(self._root / "srv/millrace")
        named = subprocess.run([ROOT / "deploy/runtime-packages", tree], check=True,
                               capture_output=True, text=True)
        self._debian.read_package_lists()
        self._debian.install(*named.stdout.split())

    @property
    def weights(self) -> str:
        return "/srv/millrace/share/millrace/weights/refine-start.safetensors"

    @property
    def learned(self) -> str:
        return f"/{_LEARNED}"

    def start(self, configuration: str, systemd: NotifySocket) -> subprocess.Popen:
        """The server, as its unit starts it, but with this machine's network."""
        (self._root / _ETC / "millrace.yaml").write_text(configuration)
        os.chmod(systemd.path, 0o777)
        command = self._debian.command(
            "/srv/millrace/bin/millrace", "serve", "--config", f"/{_ETC}/millrace.yaml", "--no-progress",
            options=(f"--user={_USER}:{_USER}",), folder=self.learned,
            environment=systemd.told(f"/{_RUN}/{systemd.path.name}"))
        return subprocess.Popen(command, cwd="/", text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def notify_socket(self) -> NotifySocket:
        """What starts it, and is told how it is."""
        return NotifySocket(self._root / _RUN)
