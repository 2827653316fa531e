#!/usr/bin/env python3
"""Writes monitoring.yaml for clusters with the Prometheus operator, and the alerts of the chart in deploy/helm. Both have the
alerts of deploy/prometheus/alerts.yml.

    .deps/venv/bin/python deploy/kubernetes/make.py
"""

import pathlib

HERE = pathlib.Path(__file__).resolve().parent
ALERTS = HERE.parent / "prometheus/alerts.yml"

CHART = HERE.parent / "helm/millrace/files/alerts.yml"

HEAD = """# For clusters with the Prometheus operator: its scraping, and the alerts. Written by make.py from
# deploy/prometheus/alerts.yml: change that file.
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


def rules() -> str:
    """The alerts, without the comment at the top of their file."""
    text = ALERTS.read_text()
    return text[text.index("groups:"):]


def monitoring() -> str:
    return HEAD + "".join(f"  {line}".rstrip() + "\n" for line in rules().splitlines())


if __name__ == "__main__":
    (HERE / "monitoring.yaml").write_text(monitoring())
    CHART.write_text(rules())
