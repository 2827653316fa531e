"""The same `millrace serve` on several hosts, started by real launchers: srun, mpirun and torchrun."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml
from host_network import HostNetwork
from millrace_testing import millrace_process
from network_namespace import NetworkNamespace
from slurm_cluster import SlurmCluster

HOSTS = 2
NAMES = {f"m{host}": HostNetwork.address(host) for host in range(HOSTS)}

# That of Debian 12 (1.13) does not know Python 3.11, where a flag without bits is no member of its enumeration.
TORCHRUN = """
import torch.distributed.run as run
from torch.distributed.elastic.multiprocessing import Std
run.Std = type("Std", (), {"from_str": staticmethod(lambda text: Std.NONE)})
run.main()
"""


def setUpModule():
    NetworkNamespace(elsewhere=NAMES).enter()


class RankLaunchersTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.secret = millrace_process.ranks_secret(self.folder)

    def config(self, listen: str, ranks: list[int]) -> str:
        schedule = {"kind": "one_f_one_b_star", "stages": 3, "cuts": [2, 5], "stages_on": ranks}
        config = millrace_process.config(
            [millrace_process.test_stream("street", schedule=schedule)],
            ranks={"listen": listen, "secret_file": str(self.secret)})
        file = self.folder / "millrace.yaml"
        file.write_text(yaml.safe_dump(config))
        return str(file)

    def command(self, listen: str, ranks: list[int], frames: int = 30) -> list[str]:
        return [millrace_process.program(), "serve", "--no-progress", "--frames", str(frames),
                "--config", self.config(listen, ranks)]

    def learns(self, process: subprocess.Popen) -> str:
        """The output of a launcher whose processes all end well."""
        output, _ = process.communicate(timeout=millrace_process.PATIENCE_S)
        self.assertEqual(0, process.returncode, output)
        self.assertRegex(output, r"started by .* as rank 1: joins the server at ")
        self.assertRegex(output, r"street: 3\d predictions in ")
        return output

    def test_srun(self):
        with HostNetwork(HOSTS) as network, SlurmCluster(network, self.folder, HOSTS) as cluster:
            # Slurm says who leads.
            for listen in (":29500", f"{network.address(0)}:29500"):
                with self.subTest(listen=listen):
                    process = cluster.srun(["--nodes=2", "--ntasks=2", *self.command(listen, [1, 1, 0])],
                                           stdout=subprocess.PIPE, text=True)
                    self.assertIn("started by Slurm as rank 1", self.learns(process))
            with self.subTest("too few"):
                process = cluster.srun(["--nodes=2", "--ntasks=2", *self.command(":29500", [2, 1, 0])],
                                       stdout=subprocess.PIPE, text=True)
                output, _ = process.communicate(timeout=millrace_process.PATIENCE_S)
                self.assertNotEqual(0, process.returncode)
                self.assertIn("the streams need 3 processes with this server (schedule.stages_on), and Slurm has started 2",
                              output)

    def test_mpirun(self):
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "3"]
        process = subprocess.Popen([*mpirun, *self.command("127.0.0.1:0", [2, 1, 0])], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        output, _ = process.communicate(timeout=millrace_process.PATIENCE_S)
        self.assertIn("with port 0, the other processes cannot know the leader's port", output)
        process = subprocess.Popen([*mpirun, *self.command("127.0.0.1:29501", [2, 1, 0])], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        output = self.learns(process)
        # Each has the rank that it was started with.
        self.assertEqual({"1", "2"}, set(re.findall(r"joined as rank (\d) of 3", output)))

    def test_mpirun_on_two_hosts(self):
        # Each host's daemon of Open MPI is started by a "remote shell".
        with HostNetwork(HOSTS) as network:
            shell = self.folder / "shell"
            inside = "\n".join(f'  {name}) exec {" ".join(network.inside(host))} sh -c "$*" ;;'
                               for host, name in enumerate(NAMES))
            shell.write_text(f'#!/bin/sh\nhost=$1\nshift\ncase $host in\n{inside}\nesac\n')
            shell.chmod(0o755)
            process = network.start(
                0, ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", str(shell), "--mca",
                    "oob_tcp_if_include", "eth0", "--mca", "btl", "self", "--host", "m0,m1", "-x",
                    "MASTER_ADDR=m0", *self.command(":29500", [1, 1, 0])],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertIn("started by Open MPI as rank 1", self.learns(process))

    def test_torchrun(self):
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", TORCHRUN, "--standalone", "--no_python", "--nproc_per_node=2",
             *self.command("127.0.0.1:29502", [1, 1, 0])],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertIn("started by torchrun as rank 1", self.learns(process))

    def test_without_a_launcher_the_leader_needs_an_address(self):
        ended = subprocess.run(self.command(":29500", [1, 1, 0]), capture_output=True, text=True,
                               timeout=millrace_process.PATIENCE_S, check=False)
        self.assertEqual(2, ended.returncode, ended.stderr)
        self.assertIn("ranks.listen: ':29500' names no host, and no launcher has started this", ended.stderr)


if __name__ == "__main__":
    unittest.main()
