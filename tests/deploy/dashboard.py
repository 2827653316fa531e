"""Reads Grafana dashboards: their panels, their queries, and the metrics that they name."""

import dataclasses
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "dashboards"
OVERVIEW = FOLDER / "overview.json"

_METRIC = re.compile(r"\b(?:millrace|process)_[a-z0-9_]+")
_IN_QUOTES = re.compile(r'"[^"]*"')


@dataclasses.dataclass(frozen=True)
class Query:
    """One query of a panel."""

    panel: str
    ref: str
    expr: str
    legend: str

    def __str__(self):
        return f"{self.panel}, {self.ref}"


def load(path: pathlib.Path = OVERVIEW) -> dict:
    return json.loads(path.read_text())


def load_all() -> dict[str, dict]:
    """All that there are, by name."""
    return {path.stem: load(path) for path in sorted(FOLDER.glob("*.json"))}


def panels(dashboard: dict) -> list[dict]:
    """All panels, those inside collapsed rows too, without the rows."""
    flat = [inner for panel in dashboard["panels"] for inner in (panel, *panel.get("panels", []))]
    return [panel for panel in flat if panel["type"] != "row"]


def queries(dashboard: dict) -> list[Query]:
    return [
        Query(panel["title"], target["refId"], target["expr"], target["legendFormat"])
        for panel in panels(dashboard)
        for target in panel["targets"]
    ]


def all_expressions(dashboard: dict) -> list[str]:
    """Of panels and annotations."""
    annotations = [a["expr"] for a in dashboard["annotations"]["list"] if "expr" in a]
    return [query.expr for query in queries(dashboard)] + annotations


def filled_in(expr: str, rate_interval: str = "1m", stream: str = ".*") -> str:
    """The expression with its variables replaced, as Grafana does."""
    values = {"$__rate_interval": rate_interval, "$__interval": rate_interval, "$stream": stream}
    for name, value in values.items():
        expr = expr.replace(name, value)
    if "$" in expr:
        raise ValueError(f"a variable that this does not know: {expr}")
    return expr


def metrics_named(expr: str) -> set[str]:
    """The metrics in a PromQL expression; a histogram's by its family's name."""
    names = set(_METRIC.findall(_IN_QUOTES.sub("", expr)))
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in names}
