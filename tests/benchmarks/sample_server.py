"""A server on free ports, which benchmarks measure from outside."""

import dataclasses
import json
import os
import pathlib
import re
import statistics
import urllib.request
from collections.abc import Callable

from millrace_testing import millrace_process, shipped_config

_METRIC = re.compile(r"(?P<name>[a-z_]+)(?:\{[^}]*\})? (?P<value>\S+)")


def configuration(path: str, **source) -> dict:
    """What the file at `path` says, on free ports, with `source` changed in its streams."""
    settings = shipped_config.read(pathlib.Path(path))
    for port in ("grpc_port", "http_port", "metrics_port"):
        settings["listen"][port] = 0
    for stream in settings["streams"]:
        stream["source"].update(source)
    return settings


def metrics(server: millrace_process.Server) -> dict[str, float]:
    """One scrape: the value of each metric, summed over its labels."""
    with urllib.request.urlopen(server.metrics, timeout=millrace_process.PATIENCE_S) as answer:
        text = answer.read().decode()
    total: dict[str, float] = {}
    for found in map(_METRIC.fullmatch, text.splitlines()):
        if found:
            total[found["name"]] = total.get(found["name"], 0) + float(found["value"])
    return total


def predicted(server: millrace_process.Server) -> int:
    return int(metrics(server)["millrace_service_frames_predicted_total"])


def wait_until_predicted(server: millrace_process.Server, count: int,
                         meanwhile: Callable[[], object] = lambda: None) -> None:
    """Waits for the server's `count`th prediction, calling `meanwhile` now and then."""

    def reached() -> bool:
        meanwhile()
        return predicted(server) >= count

    millrace_process.wait_for(f"prediction {count}", reached, patience_s=1200, pause_s=0.5)


@dataclasses.dataclass(frozen=True)
class CpuSeconds:
    """CPU time so far: of the process, and of each living thread by its number."""

    process: float
    threads: dict[int, float]
    names: dict[int, str]

    def of_threads_since(self, before: "CpuSeconds") -> dict[str, float]:
        """What the threads took since then, by name. Pools reuse threads under new names."""
        spent: dict[str, float] = {}
        for thread, seconds in self.threads.items():
            name = self.names[thread]
            spent[name] = spent.get(name, 0) + seconds - before.threads.get(thread, 0)
        return spent


def cpu_seconds(server: millrace_process.Server) -> CpuSeconds:
    process = pathlib.Path(f"/proc/{server.process.pid}")
    ticks = (process / "stat").read_text().rpartition(")")[2].split()
    cpu = CpuSeconds(process=(int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"),
                     threads={}, names={})
    for task in (process / "task").iterdir():
        try:
            nanoseconds = int((task / "schedstat").read_text().split()[0])
            cpu.names[int(task.name)] = (task / "comm").read_text().strip()
        except FileNotFoundError:  # It has just ended.
            continue
        cpu.threads[int(task.name)] = nanoseconds / 1e9
    return cpu


def show_conditions() -> None:
    """What to doubt a result by."""
    print(f"At the start: {os.cpu_count()} cores, load average {os.getloadavg()[0]:.2f}\n", flush=True)


def show(title: str, rows: list[list[object]]) -> None:
    """A Markdown table; the first row is its head."""
    print(f"{title}\n")
    for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]]:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def text(values: list[float], digits: int) -> str:
    """`1.62 (1.48 to 1.71)`: median, least and greatest."""
    figures = spread(values)
    return "{median:.{0}f} ({min:.{0}f} to {max:.{0}f})".format(digits, **figures)


def write_result(path: str, result: object) -> None:
    pathlib.Path(path).write_text(json.dumps(result, indent=2) + "\n")
