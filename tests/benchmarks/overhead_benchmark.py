"""CPU time per frame of everything outside the network, against the network's CPU time.

    overhead_benchmark.py CONFIGURATION JSON_FILE

The configured server, whose camera sets the pace, in turns without and with a gRPC subscriber that
reads every flow. The network is the work of the threads `stage 1`, `stage 2` ...: all
operations, the loss, and the hand-over of the prediction. The rest is decoding, scaling, grey pictures,
counters, gRPC, metrics (two scrapes a second), logging and all other work of the process.
"""

import sys
import threading

import millrace
from millrace_testing import millrace_process
import sample_server

WARM_UP = 50
TURNS = 5
FRAMES = 60


class Turn:
    """The cost of FRAMES predictions, in milliseconds of CPU time each."""

    def __init__(self, server: millrace_process.Server):
        dropped, count = _dropped(server), sample_server.predicted(server)
        before = sample_server.cpu_seconds(server)
        sample_server.wait_until_predicted(server, count + FRAMES)
        after = sample_server.cpu_seconds(server)
        frames = sample_server.predicted(server) - count
        self.threads = {name: 1e3 * seconds / frames
                        for name, seconds in after.of_threads_since(before).items()}
        self.network = sum(ms for name, ms in self.threads.items() if name.startswith("stage "))
        self.rest = 1e3 * (after.process - before.process) / frames - self.network
        self.dropped = _dropped(server) - dropped


def _dropped(server: millrace_process.Server) -> float:
    return sample_server.metrics(server)["millrace_service_frames_dropped_total"]


class Reader:
    """A client that reads every prediction with its flow. A context manager."""

    def __init__(self, server: millrace_process.Server):
        self._client = millrace.Client(server.grpc)
        self._predictions = self._client.predictions()
        self._predictions.wait_for_server()
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> "Reader":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._client.close()
        self._thread.join()

    def _read(self) -> None:
        for _ in self._predictions:
            pass


def measure(configuration: dict) -> dict[str, list[Turn]]:
    turns: dict[str, list[Turn]] = {"nobody": [], "one subscriber": []}
    with millrace_process.serve(configuration, "--no-progress") as server:
        sample_server.wait_until_predicted(server, WARM_UP)
        for _ in range(TURNS):
            turns["nobody"].append(Turn(server))
            with Reader(server):
                turns["one subscriber"].append(Turn(server))
    return turns


def main() -> None:
    sample_server.show_conditions()
    turns = measure(sample_server.configuration(sys.argv[1]))
    head = ["who reads", "not the network, ms a frame", "network, ms a frame", "ratio",
            "dropped"]
    rows = [[who, sample_server.text([turn.rest for turn in taken], 2),
             sample_server.text([turn.network for turn in taken], 1),
             sample_server.text([turn.rest / turn.network for turn in taken], 3),
             f"{sum(turn.dropped for turn in taken):.0f}"]
            for who, taken in turns.items()]
    sample_server.show("CPU time of the server, median (least to greatest) of "
                       f"{TURNS} turns of {FRAMES} frames", [head, *rows])
    last = turns["one subscriber"][-1].threads
    busiest = sorted(last.items(), key=lambda item: -item[1])[:10]
    sample_server.show("Its busiest threads in the last turn with a subscriber",
                       [["thread", "ms a frame"], *([name, f"{ms:.2f}"] for name, ms in busiest)])
    sample_server.write_result(sys.argv[2], {
        who: {"rest_ms_per_frame": sample_server.spread([turn.rest for turn in taken]),
              "network_ms_per_frame": sample_server.spread([turn.network for turn in taken]),
              "ratio": sample_server.spread([turn.rest / turn.network for turn in taken]),
              "dropped": sum(turn.dropped for turn in taken),
              "threads_ms_per_frame_of_last_turn": taken[-1].threads}
        for who, taken in turns.items()})


if __name__ == "__main__":
    main()
