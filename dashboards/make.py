#!/usr/bin/env python3
"""Writes the dashboards that panels.yaml describes, as Grafana 10 and 11 read them.

    .deps/venv/bin/python dashboards/make.py
"""

import json
import pathlib
import re

import yaml

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
USUAL_HEIGHT = 8

_OUR_METRIC = re.compile(r"(millrace_\w+)\{([^}]*)\}")
_PROCESS_METRIC = re.compile(r"(process_\w+)\{\}")


def spelled_out(query: str) -> str:
    """PromQL, from the short form of panels.yaml."""
    query = _OUR_METRIC.sub(_of_streams, query)
    query = _PROCESS_METRIC.sub(r'\1{job="millrace"}', query)
    return query.replace("[]", "[$__rate_interval]")


def _of_streams(found: re.Match) -> str:
    metric, more = found.groups()
    if more.startswith("job"):
        return f'{metric}{{job="millrace"{more.removeprefix("job")}}}'
    return f'{metric}{{stream=~"$stream"{", " if more else ""}{more}}}'


def steps(colours_and_values: list) -> list[dict]:
    """[green, 1, red]: green, and red from 1 on."""
    values = [None, *colours_and_values[1::2]]
    return [{"color": colour, "value": value}
            for colour, value in zip(colours_and_values[0::2], values)]


def stat(panel: dict) -> dict:
    return {
        "fieldConfig": {"defaults": {**_defaults(panel, "thresholds"), "noValue": "no data"},
                        "overrides": []},
        "options": {"colorMode": "background" if panel.get("background") else "value",
                    "graphMode": "none" if panel.get("text") else "area", "justifyMode": "auto",
                    "orientation": "auto", "textMode": panel.get("text", "auto"),
                    "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}},
    }


def series(panel: dict) -> dict:
    stacked = panel.get("stacked", False)
    custom = {
        "drawStyle": "line", "lineWidth": 2 if panel.get("thick") else 1,
        "fillOpacity": 40 if stacked else 10 if panel.get("filled") else 0,
        "showPoints": "never", "spanNulls": False,
        "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
        "thresholdsStyle": {"mode": "dashed" if panel.get("line_at_steps") else "off"},
    }
    if panel.get("stepped"):
        custom["lineInterpolation"] = "stepAfter"
    if "soft_max" in panel:
        custom["axisSoftMax"] = panel["soft_max"]
    defaults = {**_defaults(panel, "palette-classic"), "custom": custom, "min": 0}
    calcs = panel.get("calcs", ["lastNotNull", "mean", "max"])
    return {
        "fieldConfig": {"defaults": defaults, "overrides": _overrides(panel)},
        "options": {"legend": {"displayMode": "table", "placement": "bottom", "showLegend": True,
                               "calcs": calcs},
                    "tooltip": {"mode": "multi", "sort": "desc"}},
    }


def states(panel: dict) -> dict:
    mappings = {str(code): {"text": name, "color": colour, "index": index}
                for index, (code, (name, colour)) in enumerate(panel["codes"].items())}
    defaults = {**_defaults({**panel, "unit": "none"}, "thresholds"),
                "custom": {"fillOpacity": 80, "lineWidth": 0, "spanNulls": False},
                "mappings": [{"type": "value", "options": mappings}]}
    return {
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": {"alignValue": "left", "mergeValues": True, "rowHeight": 0.8,
                    "showValue": "auto",
                    "legend": {"displayMode": "list", "placement": "bottom", "showLegend": False},
                    "tooltip": {"mode": "single", "sort": "none"}},
    }


KINDS = {"stat": ("stat", stat), "series": ("timeseries", series), "states": ("state-timeline", states)}


def _defaults(panel: dict, colour_mode: str) -> dict:
    defaults = {"unit": panel["unit"], "color": {"mode": colour_mode},
                "thresholds": {"mode": "absolute", "steps": steps(panel.get("steps", ["green"]))}}
    if "decimals" in panel:
        defaults["decimals"] = panel["decimals"]
    return defaults


def _overrides(panel: dict) -> list[dict]:
    overrides = []
    if "dashed" in panel:
        dashes = {"fill": "dash", "dash": [8, 6]}
        overrides.append({"matcher": _ending(panel["dashed"]),
                          "properties": [{"id": "custom.lineStyle", "value": dashes},
                                         {"id": "custom.fillOpacity", "value": 0}]})
    for ending, colour in panel.get("colours", {}).items():
        fixed = {"mode": "fixed", "fixedColor": colour}
        overrides.append({"matcher": _ending(ending),
                          "properties": [{"id": "color", "value": fixed}]})
    return overrides


def _ending(legend: str) -> dict:
    return {"id": "byRegexp", "options": f"/ {legend}$/"}


def drawn(panel: dict, number: int, place: dict) -> dict:
    kind, options = KINDS[panel["kind"]]
    targets = [{"datasource": SOURCE, "editorMode": "code", "expr": spelled_out(query),
                "legendFormat": legend, "refId": ref, "range": True}
               for ref, (legend, query) in zip("ABCDEF", panel["queries"].items())]
    return {"id": number, "type": kind, "title": panel["title"], "description": panel["says"],
            "datasource": SOURCE, "gridPos": place, "targets": targets, **options(panel)}


def laid_out(rows: list[dict], catalogue: dict[str, dict]) -> list[dict]:
    """The panels in their places: a row fills up from the left, and continues below."""
    panels: list[dict] = []
    y = 0
    for row in rows:
        panels.append({"id": len(panels) + 1, "type": "row", "title": row["title"],
                       "collapsed": False, "gridPos": {"x": 0, "y": y, "w": COLUMNS, "h": 1},
                       "panels": []})
        y, x, high = y + 1, 0, row.get("high", USUAL_HEIGHT)
        for name, wide in row["panels"]:
            if x + wide > COLUMNS:
                x, y = 0, y + high
            place = {"x": x, "y": y, "w": wide, "h": high}
            panels.append(drawn(catalogue[name], len(panels) + 1, place))
            x += wide
        y += high
    return panels


def variables() -> list[dict]:
    streams = "label_values(millrace_ingest_frames_received_total, stream)"
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
         "current": {}, "hide": 0, "includeAll": False, "multi": False, "options": [],
         "refresh": 1, "regex": "", "skipUrlSync": False},
        {"name": "stream", "label": "Camera stream", "type": "query", "datasource": SOURCE,
         "definition": streams,
         "query": {"query": streams, "refId": "PrometheusVariableQueryEditor-VariableQuery"},
         "current": {"selected": True, "text": ["All"], "value": ["$__all"]}, "includeAll": True,
         "multi": True, "allValue": ".*", "hide": 0, "options": [], "refresh": 2, "regex": "",
         "skipUrlSync": False, "sort": 1},
    ]


def annotations() -> dict:
    return {"list": [
        {"builtIn": 1, "datasource": {"type": "grafana", "uid": "-- Grafana --"}, "enable": True,
         "hide": True, "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts",
         "type": "dashboard"},
        {"datasource": SOURCE, "enable": True,
         "expr": 'changes(millrace_ingest_source_state{stream=~"$stream"}[$__interval]) > 0',
         "iconColor": "orange", "name": "Cameras", "titleFormat": "The camera came into another state",
         "textFormat": "{{stream}}"},
    ]}


def links() -> list[dict]:
    """Links to the other dashboards, with the same streams and the same time."""
    return [{"type": "dashboards", "title": "Millrace", "tags": ["millrace"], "asDropdown": False,
             "icon": "external link", "includeVars": True, "keepTime": True, "targetBlank": False,
             "tooltip": "", "url": ""}]


def dashboard(name: str, described: dict, catalogue: dict[str, dict]) -> dict:
    return {"uid": f"millrace-{name}", "title": described["title"],
            "description": described["says"], "tags": ["millrace"], "schemaVersion": 39,
            "version": 1, "editable": True, "graphTooltip": 1, "fiscalYearStartMonth": 0,
            "liveNow": False, "weekStart": "", "timezone": "browser", "refresh": "5s",
            "time": {"from": "now-15m", "to": "now"}, "timepicker": {}, "links": links(),
            "annotations": annotations(), "templating": {"list": variables()},
            "panels": laid_out(described["rows"], catalogue)}


def texts() -> dict[str, str]:
    """The content of each file of this folder."""
    described = yaml.safe_load((HERE / "panels.yaml").read_text())
    return {f"{name}.json": json.dumps(dashboard(name, one, described["panels"]), indent=2) + "\n"
            for name, one in described["dashboards"].items()}


if __name__ == "__main__":
    for file, text in texts().items():
        (HERE / file).write_text(text)
