"""A server whose stages run on two hosts, over links that are slow or long: it plans for them, or says so."""

import pathlib
import re
import tempfile
import unittest

from host_network import HostNetwork
from millrace_testing import client, millrace_process
from network_namespace import NetworkNamespace

BUSIEST_LINK = "millrace_pipeline_busiest_link_load_ratio"


def setUpModule():
    NetworkNamespace().enter()


class RankLinksTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.secret = millrace_process.ranks_secret(self.folder)
        self.network = self.enterContext(HostNetwork(2))
        self.leader = f"{self.network.address(0)}:29500"

    def serve(self, camera_rate: int, **schedule) -> millrace_process.Server:
        """On host 0; stage 1 is on host 1."""
        stream = millrace_process.test_stream(
            "street", camera_rate, schedule={"stages_on": [1, 0], **schedule})
        config = millrace_process.config(
            [stream], model={"input": [192, 144]},
            listen={"address": self.network.address(0), "allow_plain_text": True,
                    "grpc_port": 0, "http_port": 0, "metrics_port": 0},
            ranks={"listen": self.leader, "secret_file": str(self.secret)})
        log = self.enterContext((self.folder / "host1.log").open("a"))
        self.network.start(1, [millrace_process.program(), "join", self.leader, "--secret-file", str(self.secret)],
                           stdout=log, stderr=log)
        process, _ = self.enterContext(millrace_process.start(config, inside=self.network.inside(0)))
        self.server = millrace_process.stands(process)
        self.addCleanup(millrace_process.stop, self.server)
        return self.server

    def metric(self, name: str) -> float:
        return client.of_stream(client.get(self.server.metrics)[1], name, "street")

    def predicts(self, frames: int) -> None:
        """Until it has predicted so many frames in all."""
        millrace_process.wait_for(f"{frames} predictions", lambda: self.metric(
            "millrace_service_frames_predicted_total") >= frames)

    def says(self, pattern: str) -> re.Match:
        def line():
            return next((found for line in self.server.output if (found := re.search(pattern, line))), None)
        return millrace_process.wait_for(f"'{pattern}'", line, patience_s=4 * millrace_process.PATIENCE_S)

    def adds_up(self) -> None:
        self.assertEqual(0, client.sums(client.get(self.server.metrics)[1])["millrace_service_frames_unaccounted"])

    def dropped(self) -> float:
        return sum(float(line.rsplit(" ", 1)[1]) for line in client.get(self.server.metrics)[1].splitlines()
                   if line.startswith("millrace_service_frames_dropped_total{") and 'reason="queue_full"' in line)

    def test_a_link_that_is_too_slow_is_named_as_the_limit(self):
        self.network.slow(1, "50mbit")
        self.serve(30, kind="one_f_one_b_star", stages=2, cuts=[1])
        told = self.says(r"overload: it drops .* frames a second: the network is too slow, "
                         r"as rank (\d) sends to rank (\d) for (\d+) % of the time")
        self.assertIn(told.groups()[:2], {("1", "0"), ("0", "1")})
        self.assertGreater(self.metric(BUSIEST_LINK), 0.75)
        self.adds_up()

    def test_the_plan_for_a_rate_follows_the_links_speed(self):
        self.network.slow(1, "200mbit")
        self.serve(10, kind="auto", frames_per_second=10)
        told = self.says(r"planned again, as the link behind stage 1 takes ([0-9.]+) ms a sample instead of 0")
        # 200 Mbit/s carry 25,000 bytes a millisecond. The first plan's cut may have been another one.
        self.assertGreater(float(told[1]), 1)
        self.predicts(60)
        self.adds_up()

    def test_a_long_link_delays_predictions_and_drops_none(self):
        self.network.lengthen(1, 0.02)
        self.serve(10, kind="one_f_one_b_star", stages=2)
        self.predicts(20)
        dropped = self.dropped()
        self.predicts(80)
        self.assertEqual(dropped, self.dropped())
        self.assertLess(self.metric(BUSIEST_LINK), 0.75)
        self.adds_up()


if __name__ == "__main__":
    unittest.main(verbosity=2)
