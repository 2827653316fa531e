"""The cost of predictions for a client's own pictures: the stream's predictions a second while a client requests them
without a pause, against a run without this client.

    question_benchmark.py CONFIGURATION JSON_FILE

The configured server runs twice: behind its camera, which sets the pace; and with frames that wait, so that the
stages are the limit and use every core.
"""

import statistics
import sys
import threading
import time

import millrace
from millrace_testing import millrace_process
import numpy as np
import sample_server

WARM_UP = 50
TURNS = 5
FRAMES = 60


class Asker:
    """A client that sends its next request after each answer. A context manager."""

    def __init__(self, server: millrace_process.Server, stream: str, side: tuple[int, int]):
        self.seconds: list[float] = []  # Of each answer.
        self._client = millrace.Client(server.grpc, timeout=60)
        self._stream = stream
        pictures = np.random.default_rng(0).integers(0, 255, (2, *side, 3), np.uint8)
        self._pictures = list(pictures)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> "Asker":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._done.set()
        self._thread.join()
        self._client.close()

    def _ask(self) -> None:
        while not self._done.is_set():
            begin = time.monotonic()
            self._client.predict(self._stream, self._pictures, parts=millrace.Parts())
            self.seconds.append(time.monotonic() - begin)


def rate(server: millrace_process.Server) -> float:
    """Predictions a second, over FRAMES."""
    count, begin = sample_server.predicted(server), time.monotonic()
    sample_server.wait_until_predicted(server, count + FRAMES)
    return (sample_server.predicted(server) - count) / (time.monotonic() - begin)


def measure(configuration: dict) -> dict[str, list[float]]:
    figures: dict[str, list[float]] = {"alone": [], "asked": [], "answer_ms": []}
    (stream,) = configuration["streams"]
    width, height = configuration.get("model", {}).get("input", (320, 240))
    with millrace_process.serve(configuration, "--no-progress") as server:
        sample_server.wait_until_predicted(server, WARM_UP)
        for _ in range(TURNS):
            figures["alone"].append(rate(server))
            with Asker(server, stream["name"], (height, width)) as asker:
                figures["asked"].append(rate(server))
            figures["answer_ms"].append(1e3 * statistics.median(asker.seconds))
    return figures


def main() -> None:
    sample_server.show_conditions()
    measured = {
        "behind the camera": measure(sample_server.configuration(sys.argv[1])),
        "frames wait": measure(sample_server.configuration(sys.argv[1], as_camera=False)),
    }
    rows: list[list[object]] = [["frames", "alone, a second", "asked, a second", "ratio",
                                 "an answer, ms"]]
    result = {}
    for name, figures in measured.items():
        ratios = [asked / alone for asked, alone in zip(figures["asked"], figures["alone"])]
        rows.append([name, sample_server.text(figures["alone"], 2),
                     sample_server.text(figures["asked"], 2), sample_server.text(ratios, 3),
                     sample_server.text(figures["answer_ms"], 0)])
        result[name] = {"ratio": sample_server.spread(ratios),
                        **{key: sample_server.spread(values) for key, values in figures.items()}}
    sample_server.show(f"Median (least to greatest) of {TURNS} turns of {FRAMES} frames", rows)
    sample_server.write_result(sys.argv[2], result)


if __name__ == "__main__":
    main()
