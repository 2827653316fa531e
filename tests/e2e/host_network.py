"""Hosts on one network: namespaces that a bridge joins, in the test's own namespace.

    def setUpModule():
        NetworkNamespace(...).enter()

    with HostNetwork(3) as network:
        network.start(0, ["millrace", "serve", ...], stdout=log)  # On network.address(0).
        network.cut(1)                                            # A silent partition: no packet gets through.
        network.heal(1)
        network.slow(1, "50mbit")
        network.lengthen(1, 0.02)                         # Each packet from and to it takes 20 ms longer.

Needs root's rights in the namespace, and `ip` and `tc` (iproute2).
"""

import pathlib
import subprocess
import sys
import typing


class HostNetwork:
    """`size` hosts. Ends the processes that it has started."""

    def __init__(self, size: int):
        self._holders: list[subprocess.Popen] = []  # Each keeps a host's namespace.
        self._processes: list[subprocess.Popen] = []
        self._bridges = ["bridge0"]
        self._size = size

    def __enter__(self) -> typing.Self:
        _ip("link", "add", "bridge0", "type", "bridge")
        _ip("link", "set", "bridge0", "up")
        _ip("address", "add", "10.77.0.1/24", "dev", "bridge0")  # The test's own.
        for host in range(self._size):
            # It says a line once it is in its namespace.
            holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
                                      stdout=subprocess.PIPE)
            self._holders.append(holder)
            holder.stdout.readline()
            _ip("link", "add", f"port{host}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
            _ip("link", "set", f"port{host}", "master", "bridge0", "up")
            for arguments in (["link", "set", "lo", "up"], ["link", "set", "eth0", "up"],
                              ["address", "add", f"{self.address(host)}/24", "dev", "eth0"]):
                subprocess.run([*self.inside(host), "ip", *arguments], check=True)
        return self

    def __exit__(self, *_) -> None:
        for process in [*self._processes, *self._holders]:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
        # A process that another one has started may still keep its host.
        for device in [*self._bridges, *(f"port{host}" for host in range(self._size))]:
            subprocess.run(["ip", "link", "delete", device], check=False, stderr=subprocess.DEVNULL)

    @staticmethod
    def address(host: int) -> str:
        return f"10.77.0.{10 + host}"

    def inside(self, host: int) -> list[str]:
        """The words before a command that runs on the host."""
        return ["nsenter", f"--net=/proc/{self._holders[host].pid}/ns/net", "--"]

    def start(self, host: int, command: list[str], **options) -> subprocess.Popen:
        process = subprocess.Popen([*self.inside(host), *command], **options)
        self._processes.append(process)
        return process

    @staticmethod
    def cut(host: int) -> None:
        """From now on no packet reaches the host, and none leaves it. Nobody is told."""
        _ip("link", "set", f"port{host}", "nomaster")

    @staticmethod
    def heal(host: int) -> None:
        _ip("link", "set", f"port{host}", "master", "bridge0")

    def slow(self, host: int, rate: str) -> None:
        """The host gets and sends at most this rate from now on, such as "50mbit"."""
        shape = ["root", "tbf", "rate", rate, "burst", "64kb", "latency", "400ms"]
        subprocess.run(["tc", "qdisc", "replace", "dev", f"port{host}", *shape], check=True)
        subprocess.run([*self.inside(host), "tc", "qdisc", "replace", "dev", "eth0", *shape], check=True)


    def lengthen(self, host: int, seconds: float) -> None:
        """Each packet from and to the host takes so much longer from now on."""
        ends = f"far{host}", f"near{host}"
        self._processes.append(relay := subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__).with_name("packet_relay.py")), *ends, str(seconds)],
            stdout=subprocess.PIPE))
        relay.stdout.readline()
        _ip("link", "add", f"branch{host}", "type", "bridge")
        self._bridges.append(f"branch{host}")
        for device, bridge in ((ends[0], f"branch{host}"), (ends[1], "bridge0"), (f"port{host}", f"branch{host}")):
            _ip("link", "set", device, "master", bridge, "up")
        _ip("link", "set", f"branch{host}", "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)
