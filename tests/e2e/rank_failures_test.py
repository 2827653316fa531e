"""A server whose stages run on hosts that fail: killed, frozen, or cut off from the network, at any moment.

Each fault comes many times, at random moments. After each, the stream waits for the host, and goes on
by itself. No frame is lost without a count, and nothing is left behind.
MILLRACE_TEST_RANK_FAULTS is the number of each kind.
"""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest
from collections.abc import Callable

from host_network import HostNetwork
from millrace_testing import client, millrace_process
from network_namespace import NetworkNamespace

FAULTS = int(os.environ.get("MILLRACE_TEST_RANK_FAULTS", 20))
LOST_AFTER_S = 1
WAITING = 7  # millrace_pipeline_learner_state


def setUpModule():
    NetworkNamespace().enter()


class RankFailuresTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.secret = millrace_process.ranks_secret(self.folder)
        self.network = self.enterContext(HostNetwork(3))
        self.leader = f"{self.network.address(0)}:29500"
        self.random = random.Random(7)

    def config(self) -> dict:
        stream = millrace_process.test_stream(
            "street", 25, schedule={"kind": "one_f_one_b_star", "stages": 3, "cuts": [2, 5], "stages_on": [2, 1, 0]},
            checkpoints={"folder": str(self.folder / "checkpoints"), "every": 100})
        return millrace_process.config(
            [stream], listen={"address": self.network.address(0), "allow_plain_text": True,
                              "grpc_port": 0, "http_port": 0, "metrics_port": 0},
            ranks={"listen": self.leader, "secret_file": str(self.secret), "lost_after_s": LOST_AFTER_S})

    def join(self, host: int) -> subprocess.Popen:
        log = self.enterContext((self.folder / f"host{host}.log").open("a"))
        return self.network.start(
            host, [millrace_process.program(), "join", self.leader, "--secret-file", str(self.secret)],
            stdout=log, stderr=subprocess.STDOUT)

    @contextlib.contextmanager
    def server(self):
        """It runs on host 0."""
        with millrace_process.start(self.config(), inside=self.network.inside(0)) as (process, _):
            self.served = millrace_process.stands(process)
            yield self.served
            millrace_process.stop(self.served)

    def metric(self, name: str) -> float:
        return client.of_stream(client.get(self.served.metrics)[1], name, "street")

    def await_more(self, name: str, than: float, by: float = 0) -> None:
        millrace_process.wait_for(f"{name} above {than + by}", lambda: self.metric(name) > than + by,
                                  pause_s=0.02)

    def adds_up(self) -> None:
        self.assertEqual(0, client.sums(client.get(self.served.metrics)[1])["millrace_service_frames_unaccounted"])

    def learns(self) -> None:
        """Until it has predicted some frames more."""
        self.await_more("millrace_service_frames_predicted_total",
                        self.metric("millrace_service_frames_predicted_total"), by=self.random.randint(0, 30))

    def suffer(self, fault: Callable[[], Callable[[], None]], notice_s: float) -> list[tuple[float, float]]:
        """The seconds until each fault was noticed, and from its end to the next prediction."""
        times = []
        for _ in range(FAULTS):
            self.learns()
            lost = self.metric("millrace_pipeline_ranks_lost_total")
            begin = time.monotonic()
            mend = fault()
            self.await_more("millrace_pipeline_ranks_lost_total", lost)
            noticed = time.monotonic() - begin
            self.assertEqual(WAITING, self.metric("millrace_pipeline_learner_state"))
            predicted = self.metric("millrace_service_frames_predicted_total")
            begin = time.monotonic()
            mend()
            self.await_more("millrace_service_frames_predicted_total", predicted)
            times.append((noticed, time.monotonic() - begin))
            self.adds_up()
        worst = [max(of) for of in zip(*times)]
        print(f"{self.id().rsplit('.', 1)[-1]}: noticed within {worst[0]:.2f} s, learns {worst[1]:.2f} s after the end",
              flush=True)
        self.assertLess(worst[0], notice_s * millrace_process.busy())
        self.assertLess(worst[1], 2 * millrace_process.busy())
        return times

    def threads_and_files(self, process: subprocess.Popen) -> tuple[int, int]:
        folder = pathlib.Path(f"/proc/{process.pid}")
        return len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir()))

    def test_a_host_that_is_killed(self):
        members = {host: self.join(host) for host in (1, 2)}
        with self.server() as served:
            self.learns()
            before = self.threads_and_files(served.process)

            def kill():
                host = self.random.choice((1, 2))
                members[host].kill()
                members[host].wait()

                def restart():
                    members[host] = self.join(host)
                return restart

            self.suffer(kill, 0.5)
            self.learns()
            after = self.threads_and_files(served.process)
            # The page's and the API's connections come and go.
            self.assertLessEqual(after[0], before[0] + 4)
            self.assertLessEqual(after[1], before[1] + 8)

    def test_a_host_that_freezes(self):
        members = {host: self.join(host) for host in (1, 2)}
        with self.server():
            def freeze():
                member = members[self.random.choice((1, 2))]
                member.send_signal(signal.SIGSTOP)
                return lambda: member.send_signal(signal.SIGCONT)

            self.suffer(freeze, LOST_AFTER_S + 1)

    def test_a_host_that_is_cut_off(self):
        for host in (1, 2):
            self.join(host)
        with self.server():
            def cut():
                host = self.random.choice((1, 2))
                self.network.cut(host)
                return lambda: self.network.heal(host)

            self.suffer(cut, LOST_AFTER_S + 1)

    def test_a_leader_that_is_killed(self):
        for host in (1, 2):
            self.join(host)
        for _ in range(FAULTS):
            with millrace_process.start(self.config(), inside=self.network.inside(0)) as (process, _):
                self.served = millrace_process.stands(process)
                self.learns()
                process.kill()
                process.wait()
        with self.server():
            self.learns()


if __name__ == "__main__":
    unittest.main()
