"""Runs a real Prometheus, with the configuration of deploy/, for a test.

The environment variable PROMETHEUS names the program; promtool is beside it.
"""

import contextlib
import dataclasses
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator

import yaml

from millrace_testing import millrace_process

DEPLOYED = millrace_process.ROOT / "deploy/prometheus/prometheus.yml"
SCRAPE_INTERVAL_S = 0.2


def promtool(*arguments: str) -> subprocess.CompletedProcess:
    tool = pathlib.Path(os.environ["PROMETHEUS"]).with_name("promtool")
    return subprocess.run(
        [tool, *arguments], text=True, capture_output=True, check=False, cwd=millrace_process.ROOT
    )


@dataclasses.dataclass(frozen=True)
class Prometheus:
    """A Prometheus that answers."""

    url: str

    def get(self, path: str, **parameters):
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}") as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {parameters}: {error.read().decode()}") from None

    def values(self, expr: str, time: float | None = None) -> dict[tuple, float]:
        """The value of each series that `expr` gives at `time`, by its labels: (("stream", "a"),)."""
        at = {} if time is None else {"time": f"{time:.3f}"}
        result = self.get("query", query=expr, **at)["result"]
        return {_labels(series["metric"]): float(series["value"][1]) for series in result}

    def values_between(self, expr: str, begin: float, end: float) -> dict[tuple, set[float]]:
        """All values of each series that `expr` gives from `begin` to `end`, at every scrape."""
        result = self.get("query_range", query=expr, start=f"{begin:.3f}", end=f"{end:.3f}",
                          step=SCRAPE_INTERVAL_S)["result"]  # fmt: skip
        return {
            _labels(series["metric"]): {float(value) for _, value in series["values"]}
            for series in result
        }

    def see(self, comparison: str) -> None:
        """Waits until the condition holds and so has a series, and for two more scrapes, so that a query
        for the values of every moment finds it. After a scrape that took too long there is no series until
        the next scrape."""
        millrace_process.wait_for(comparison, lambda: self.values(comparison))
        enough = len(self.samples("up")) + 2
        millrace_process.wait_for("two scrapes", lambda: len(self.samples("up")) >= enough)

    def samples(self, selector: str, window: str = "1h") -> list[tuple[float, float]]:
        """When the selector's one series was scraped, and its values."""
        [series] = self.get("query", query=f"{selector}[{window}]")["result"]
        return [(time, float(value)) for time, value in series["values"]]


def _labels(metric: dict) -> tuple:
    return tuple(sorted((name, value) for name, value in metric.items() if name != "__name__"))


def one(values: dict[tuple, float], **labels: str) -> float:
    """The value of the one series that has these labels."""
    found = [value for series, value in values.items() if set(labels.items()) <= set(series)]
    if len(found) != 1 or math.isnan(found[0]):
        raise AssertionError(f"{labels} have the values {found} in {values}")
    return found[0]


@contextlib.contextmanager
def scrapes(metrics_url: str, minute_s: int = 60) -> Iterator[Prometheus]:
    """Runs Prometheus as deployed, but with this server for its target, and more often. What the
    alerts' rules call a minute takes `minute_s`."""
    with tempfile.TemporaryDirectory(prefix="prometheus.") as name:
        folder = pathlib.Path(name)
        configuration = _configuration(metrics_url)
        configuration["rule_files"] = [
            _with_minutes_of(minute_s, pathlib.Path(file), folder)
            for file in configuration["rule_files"]
        ]
        (folder / "prometheus.yml").write_text(json.dumps(configuration))
        command = [
            os.environ["PROMETHEUS"],
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            "--web.listen-address=127.0.0.1:0",
            "--log.level=info",
        ]
        log = folder / "log"
        with log.open("w") as output, subprocess.Popen(
            command, stdout=output, stderr=output
        ) as process:
            try:
                yield Prometheus(_url(log))
            finally:
                process.terminate()


def _configuration(metrics_url: str) -> dict:
    deployed = yaml.safe_load(DEPLOYED.read_text())
    deployed["global"].update(
        scrape_interval="200ms", scrape_timeout="200ms", evaluation_interval="1s"
    )
    deployed["rule_files"] = [str(DEPLOYED.parent / file) for file in deployed["rule_files"]]
    [job] = deployed["scrape_configs"]
    job["static_configs"] = [{"targets": [urllib.parse.urlsplit(metrics_url).netloc]}]
    return deployed


def _with_minutes_of(seconds: int, rules: pathlib.Path, folder: pathlib.Path) -> str:
    """A copy of the rules, whose windows and patience are shorter."""
    copy = folder / rules.name
    copy.write_text(re.sub(r"(\[|for: )(\d+)m\b",
                           lambda found: f"{found[1]}{int(found[2]) * seconds}s",
                           rules.read_text()))
    return str(copy)


def _url(log: pathlib.Path) -> str:
    """Where it listens, when it is ready; its log says both."""

    def address():
        text = log.read_text()
        ready = "Server is ready to receive web requests" in text
        return ready and re.search(r'msg="Listening on" address=(\S+)', text)

    try:
        return f"http://{millrace_process.wait_for('Prometheus', address)[1]}"
    except AssertionError as error:
        raise AssertionError(f"{error}:\n{log.read_text()}") from None
