"""What it costs to run a network's stages in several processes.

    .deps/venv/bin/python tests/benchmarks/ranks_benchmark.py CONFIG RESULT.json

In turns, the same `millrace serve` learns from a video as fast as it can: with all its stages in one
process, and with stages in other processes (docs/many-hosts.md). Both have as many threads. With
--link RATE, such as 1gbit, each process is a host of its own network, with links of that rate; it needs
root's rights.
"""

import argparse
import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import yaml

from millrace_testing import millrace_process, shipped_config

sys.path.append(str(millrace_process.ROOT / "tests/e2e"))
from host_network import HostNetwork  # noqa: E402
from network_namespace import NetworkNamespace  # noqa: E402

TURNS = 5
FRAMES = 600
LOCAL = "127.0.0.1"


class Bench:
    def __init__(self, config: dict, folder: pathlib.Path, network: HostNetwork | None):
        self._config = config
        self._folder = folder
        self._network = network
        self._leader = f"{network.address(0) if network else LOCAL}:29507"
        self._secret = millrace_process.ranks_secret(folder)

    def inside(self, host: int) -> list[str]:
        return self._network.inside(host) if self._network else []

    def run(self, stages_on: list[int]) -> tuple[float, float]:
        """Predictions a second, and the delay in milliseconds."""
        config = json.loads(json.dumps(self._config))
        [stream] = config["streams"]
        stream["source"] |= {"as_camera": False, "loop": True}
        stream["schedule"] = {"kind": "one_f_one_b_star", "stages": len(stages_on)}
        config.pop("schedule", None)
        config["listen"] = {"grpc_port": 0, "http_port": 0, "metrics_port": 0}
        config.pop("checkpoints", None)
        if stages_on[0] > 0:
            stream["schedule"]["stages_on"] = stages_on
            config["ranks"] = {"listen": self._leader, "secret_file": str(self._secret)}
        file = self._folder / "millrace.yaml"
        file.write_text(yaml.safe_dump(config))
        summary = self._folder / "summary.json"
        with contextlib.ExitStack() as others:
            for host in range(1, stages_on[0] + 1):
                process = others.enter_context(subprocess.Popen(
                    [*self.inside(host), millrace_process.program(), "join", self._leader, "--secret-file",
                     str(self._secret), "--rank", str(host)], stderr=subprocess.DEVNULL))
                others.callback(process.kill)
            subprocess.run(
                [*self.inside(0), millrace_process.program(), "serve", "--config", str(file), "--no-progress",
                 "--frames", str(FRAMES), "--summary-json", str(summary)],
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=millrace_process.ROOT)
        totals = json.loads(summary.read_text())
        return totals["rate_out"], totals["delay_ms"]["p50"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=pathlib.Path)
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--link", default="")
    parser.add_argument("--processes", type=int, nargs="+", default=[2])
    arguments = parser.parse_args()
    config = shipped_config.read(arguments.config)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        network = None
        if arguments.link:
            NetworkNamespace().enter()
            network = stack.enter_context(HostNetwork(max(arguments.processes)))
            for host in range(max(arguments.processes)):
                network.slow(host, arguments.link)
        bench = Bench(config, folder, network)
        rows = []
        for processes in arguments.processes:
            placements = ([0] * processes, list(range(processes - 1, -1, -1)))
            turns = [[bench.run(placement) for placement in placements] for _ in range(TURNS)]
            one, several = ([statistics.median(turn[i][j] for turn in turns) for j in (0, 1)] for i in (0, 1))
            ratio = statistics.median(turn[1][0] / turn[0][0] for turn in turns)
            rows.append({"processes": processes, "one": one, "several": several, "ratio": ratio})
    print(f"| stages and processes{', ' + arguments.link if arguments.link else ''} | one process, frames a second "
          "(delay) | several | ratio of the rates |\n| --- | --- | --- | --- |")
    for row in rows:
        cells = [f"{row[name][0]:.1f} ({row[name][1]:.0f} ms)" for name in ("one", "several")]
        print(f"| {row['processes']} | {' | '.join(cells)} | {row['ratio']:.3f} |")
    arguments.result.write_text(json.dumps({"link": arguments.link, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
