#!/usr/bin/env python3
"""Writes monitoring.yaml, for clusters with the Prometheus operator: the alerts are those of deploy/prometheus/alerts.yml.

    .deps/venv/bin/python deploy/kubernetes/make.py
"""

import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ALERTS = HERE.parent / "prometheus/alerts.yml"

HEAD = """# For clusters with the Prometheus operator: what it scrapes, and the alerts. Written by make.py from
# deploy/prometheus/alerts.yml: change that.
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: millrace
  labels: {app.kubernetes.io/name: millrace}
spec:
  # Alerts and dashboards know the job by this name.
  jobLabel: app.kubernetes.io/name
  selector:
    matchLabels: {app.kubernetes.io/name: millrace}
  endpoints:
    - port: metrics
      path: /metrics
      interval: 15s
      scrapeTimeout: 10s
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: millrace
  labels: {app.kubernetes.io/name: millrace}
spec:
"""


def text() -> str:
    lines = ALERTS.read_text().splitlines()
    rules = lines[lines.index("groups:"):]
    return HEAD + "".join(f"  {line}".rstrip() + "\n" for line in rules)


if __name__ == "__main__":
    (HERE / "monitoring.yaml").write_text(text())
