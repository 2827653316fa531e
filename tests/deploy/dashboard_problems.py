"""Lists the problems that Grafana would have with a dashboard: there is no Grafana here."""

import itertools

from dashboard import panels

COLUMNS = 24
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
# Units of Grafana's list that our dashboards use.
UNITS = {"bytes", "hertz", "none", "percentunit", "s"}
# What chooses the metrics that are of no stream.
OF_THE_SERVER = 'job="millrace"'
TYPES = {"row", "stat", "state-timeline", "timeseries"}


def problems(dashboard: dict) -> list[str]:
    """One sentence for each; an empty list for a good dashboard."""
    found = [*_frame_problems(dashboard), *_variable_problems(dashboard)]
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(ids) != len(set(ids)):
        found.append("two panels have the same id")
    titles = [panel["title"] for panel in dashboard["panels"]]
    if len(titles) != len(set(titles)):
        found.append("two panels have the same title")
    for panel in dashboard["panels"]:
        found += [f"{panel['title']}: {problem}" for problem in _place_problems(panel)]
        if panel["type"] not in TYPES:
            found.append(f"{panel['title']}: of the unknown type {panel['type']}")
    for a, b in itertools.combinations(dashboard["panels"], 2):
        if _overlap(a["gridPos"], b["gridPos"]):
            found.append(f"{a['title']} lies over {b['title']}")
    for panel in panels(dashboard):
        found += [f"{panel['title']}: {problem}" for problem in _panel_problems(panel)]
    return found


def _frame_problems(dashboard: dict):
    for key in (
        "title",
        "uid",
        "schemaVersion",
        "panels",
        "time",
        "refresh",
        "templating",
        "annotations",
    ):
        if key not in dashboard:
            yield f"it has no {key}"
    if len(dashboard["uid"]) > 40:
        yield "its uid is longer than 40 characters"
    # 36 to 39: what Grafana 10 and 11 write. An older one is migrated, with surprises.
    if not 36 <= dashboard["schemaVersion"] <= 39:
        yield f"its schemaVersion is {dashboard['schemaVersion']}"
    if "id" in dashboard:
        yield "it has an id, which belongs to the Grafana that it was exported from"


def _variable_problems(dashboard: dict):
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    if set(variables) != {"datasource", "stream"}:
        yield f"its variables are {sorted(variables)}"
        return
    if (variables["datasource"]["type"], variables["datasource"]["query"]) != (
        "datasource",
        "prometheus",
    ):
        yield "the variable datasource does not choose among Prometheus data sources"
    stream = variables["stream"]
    if stream["datasource"] != DATASOURCE or not (stream["multi"] and stream["includeAll"]):
        yield "the variable stream does not offer all streams of the chosen data source"


def _place_problems(panel: dict):
    place = panel["gridPos"]
    if set(place) != {"x", "y", "w", "h"} or min(place.values()) < 0:
        yield f"its place is {place}"
    elif place["x"] + place["w"] > COLUMNS or place["w"] == 0 or place["h"] == 0:
        yield f"it does not fit into {COLUMNS} columns"


def _overlap(a: dict, b: dict) -> bool:
    return (
        a["x"] < b["x"] + b["w"]
        and b["x"] < a["x"] + a["w"]
        and a["y"] < b["y"] + b["h"]
        and b["y"] < a["y"] + a["h"]
    )


def _panel_problems(panel: dict):
    if "Good: " not in panel.get("description", ""):
        yield "its description does not say what good looks like"
    if panel["datasource"] != DATASOURCE:
        yield "its data source is fixed"
    refs = [target["refId"] for target in panel["targets"]]
    if not refs or len(refs) != len(set(refs)):
        yield f"the refIds of its queries are {refs}"
    for target in panel["targets"]:
        if target["datasource"] != DATASOURCE:
            yield f"{target['refId']}: its data source is fixed"
        if not target["expr"].strip() or not target["legendFormat"]:
            yield f"{target['refId']}: it has no expression or no legend"
        if (
            "millrace_" in target["expr"]
            and "$stream" not in target["expr"]
            and OF_THE_SERVER not in target["expr"]
        ):
            yield f"{target['refId']}: it ignores the variable stream"
    defaults = panel["fieldConfig"]["defaults"]
    if defaults.get("unit") not in UNITS:
        yield f"its unit is {defaults.get('unit')}"
    yield from _threshold_problems(defaults["thresholds"]["steps"])


def _threshold_problems(steps: list[dict]):
    if steps[0]["value"] is not None:
        yield "its first threshold has a value: Grafana wants null, for everything below the second"
    values = [step["value"] for step in steps[1:]]
    if values != sorted(set(values)):
        yield f"its thresholds do not rise: {values}"
