"""A Slurm cluster of the test's own: a controller and one slurmd on each host of a HostNetwork.

    with HostNetwork(2) as network, SlurmCluster(network, folder, sizes=2) as cluster:
        cluster.srun(["--nodes=2", "millrace", "serve", ...])

The hosts' names are m0, m1 ... Slurm is unpacked in .deps/slurm (tools/setup).
"""

import os
import pathlib
import secrets
import subprocess
import typing

from host_network import HostNetwork
from millrace_testing import millrace_process

_SLURM = millrace_process.ROOT / ".deps/slurm"
_LIBRARIES = _SLURM / "usr/lib/x86_64-linux-gnu"

_CONFIG = """\
ClusterName=test
SlurmctldHost=m0({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
PluginDir={plugins}
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ReturnToService=2
SlurmdTimeout=30
InactiveLimit=0
KillWait=5
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class SlurmCluster:
    """Its processes end with the block."""

    def __init__(self, network: HostNetwork, folder: pathlib.Path, size: int):
        self._network = network
        self._folder = folder
        self._size = size
        self._environment = os.environ | {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "LD_LIBRARY_PATH": f"{_LIBRARIES}:{_LIBRARIES}/slurm-wlm"}

    def __enter__(self) -> typing.Self:
        for name in ("munge", "state", *(f"spool.m{host}" for host in range(self._size))):
            (self._folder / name).mkdir(mode=0o755)
        self._folder.chmod(0o755)
        nodes = "\n".join(f"NodeName=m{host} NodeAddr={self._network.address(host)} CPUs=2 State=UNKNOWN"
                          for host in range(self._size))
        (self._folder / "slurm.conf").write_text(_CONFIG.format(
            address=self._network.address(0), folder=self._folder, plugins=_LIBRARIES / "slurm-wlm", nodes=nodes))
        key = self._folder / "munge/key"
        key.touch(mode=0o400)
        key.write_bytes(secrets.token_bytes(128))
        self._start(0, ["munged", "--foreground", "--force", f"--key-file={key}",
                        f"--socket={self._folder}/munge/socket", f"--pid-file={self._folder}/munge/pid",
                        f"--seed-file={self._folder}/munge/seed", f"--log-file={self._folder}/munge/log"])
        millrace_process.wait_for("munged", (self._folder / "munge/socket").exists)
        self._start(0, ["slurmctld-wlm", "-D", "-i"])
        for host in range(self._size):
            self._start(host, ["slurmd-wlm", "-D", "-N", f"m{host}", "-d", f"{_SLURM}/usr/sbin/slurmstepd-wlm"])
        millrace_process.wait_for("idle nodes", lambda: self._idle() == self._size, pause_s=0.3)
        return self

    def __exit__(self, *_) -> None:
        pass  # The network ends its processes.

    def srun(self, arguments: list[str], **options) -> subprocess.Popen:
        """Starts `srun ARGUMENTS` on host 0."""
        return self._start(0, ["srun", *arguments], folder="bin", **options)

    def _start(self, host: int, command: list[str], folder: str = "sbin", **options) -> subprocess.Popen:
        options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT} | options
        program = f"{_SLURM}/usr/{folder}/{command[0]}"
        named = ["unshare", "--uts", "sh", "-c", f'hostname m{host} && exec "$@"', "sh", program, *command[1:]]
        return self._network.start(host, named, env=self._environment, **options)

    def _idle(self) -> int:
        asked = subprocess.run(
            [*self._network.inside(0), f"{_SLURM}/usr/bin/sinfo", "--noheader", "--Node", "--format=%t"],
            env=self._environment, capture_output=True, text=True, check=False)
        return asked.stdout.split().count("idle")
