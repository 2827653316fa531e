"""The dashboards on a real Prometheus that scrapes the real server: every query answers, moves with
the traffic, and agrees with the summary that the server writes at its end."""

import re
import unittest

import yaml

import dashboard
import live_run
import millrace_process
from prometheus_process import one

ALERTS = millrace_process.ROOT / "deploy/prometheus/alerts.yml"
STREAMS = live_run.STREAMS

_RATE = re.compile(r"rate\((\w+\{[^}]*\})\[\$__rate_interval\]\)")


def since_start(expr: str) -> str:
    """The same figure of the whole run, instead of a window: rates of counters become counters."""
    return _RATE.sub(r"\1", expr)


class DashboardLiveTest(unittest.TestCase):
    """One run of both for all tests: they only read what it left behind."""

    @classmethod
    def setUpClass(cls):
        cls.queries = dashboard.queries(dashboard.load())
        cls.all_queries = {
            name: dashboard.queries(one) for name, one in dashboard.load_all().items()
        }
        cls.live = cls.enterClassContext(live_run.live_run())

    def expr(self, panel: str, ref: str = "A") -> str:
        [expr] = [q.expr for q in self.queries if (q.panel, q.ref) == (panel, ref)]
        return expr

    def window_s(self, stream: str = "steady") -> float:
        """How long the stream's whole run was, as Prometheus saw it."""
        return self.live.end - self.live.begin[stream]

    def window_of_the_last_200_s(self, stream: str) -> float:
        """The shortest window to the run's end with all of the last 200 predictions in it."""
        scrapes = self.live.prometheus.samples(
            f'millrace_service_frames_predicted_total{{stream="{stream}"}}'
        )
        before = scrapes[-1][1] - 200
        begin = max(time for time, predicted in scrapes if predicted <= before)
        return self.live.end - begin + 0.001  # A window leaves out a scrape at its very begin.

    def evaluate(self, expr: str, time: float | None = None, window_s: float | None = None) -> dict:
        """What the query gives at `time` (the run's end), its window being that of "steady"."""
        window = f"{round((window_s or self.window_s()) * 1000)}ms"
        filled_in = dashboard.filled_in(expr, window, "|".join(STREAMS))
        return self.live.prometheus.values(filled_in, time or self.live.end)

    def assert_near(self, value: float, expected: float, what: str, slack: float = 0):
        """Within 5 %, or `slack` where that is more."""
        self.assertAlmostEqual(value, expected, delta=max(0.05 * abs(expected), slack), msg=what)

    def test_every_query_gives_a_series_for_every_stream(self):
        for name, queries in self.all_queries.items():
            for query in queries:
                with self.subTest(f"{name}: {query}"):
                    series = self.evaluate(query.expr)
                    self.assertGreaterEqual(len(series), 1)
                    if "$stream" in query.expr:
                        streams = {dict(labels).get("stream") for labels in series}
                        self.assertEqual(streams, set(STREAMS))

    def test_every_metric_of_dashboards_and_alerts_exists(self):
        exist = set(re.findall(r"^# TYPE (\w+)", self.live.metrics, re.MULTILINE))
        rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
        expressions = [rule["expr"] for rule in rules]
        for one in dashboard.load_all().values():
            expressions += dashboard.all_expressions(one)
        for expr in expressions:
            named = dashboard.metrics_named(expr)
            self.assertLessEqual(named, exist, expr)
            self.assertTrue(named or "up{" in expr, expr)

    def test_alert_rules_evaluate_and_none_that_is_critical_fires(self):
        rules = [
            rule for group in self.live.prometheus.get("rules")["groups"] for rule in group["rules"]
        ]
        self.assertEqual({rule["health"] for rule in rules}, {"ok"}, rules)
        critical = [
            alert
            for alert in self.live.prometheus.get("alerts")["alerts"]
            if alert["labels"]["severity"] == "critical" and alert["state"] == "firing"
        ]
        self.assertEqual(critical, [])

    def test_counters_rise_with_the_traffic(self):
        for name, panel, ref in [
            ("overview", "Frames in", "A"),
            ("overview", "Frame rate in and out", "B"),
            ("overview", "Updates by stage", "A"),
            ("overview", "Predictions to subscribers", "A"),
            ("overview", "CPU cores used", "A"),
            ("runtime", "Up for", "A"),
        ]:
            with self.subTest(f"{name}: {panel}"):
                [expr] = [
                    query.expr
                    for query in self.all_queries[name]
                    if (query.panel, query.ref) == (panel, ref)
                ]
                expr = since_start(expr)
                before, after = self.evaluate(expr, self.live.begin["steady"]), self.evaluate(expr)
                self.assertGreater(sum(after.values()), sum(before.values()))

    def test_a_subscriber_shows(self):
        samples = self.live.prometheus.samples('millrace_service_subscribers{stream="steady"}')
        for count in (0, 1):
            first = next(time for time, subscribers in samples if subscribers == count)
            values = self.evaluate(self.expr("Subscribers"), first)
            self.assertEqual(one(values, stream="steady"), count)
            self.assertEqual(one(values, stream="crowded"), 0)

    def test_rates_agree_with_the_summary(self):
        for ref, key in (("A", "rate_in"), ("B", "rate_out")):
            for name in STREAMS:
                with self.subTest(key, stream=name):
                    expr = self.expr("Frame rate in and out", ref)
                    values = self.evaluate(expr, window_s=self.window_s(name))
                    self.assert_near(one(values, stream=name), self.live.summary[name][key], key)

    def test_counts_agree_with_the_summary(self):
        for ref, key in (("A", "frames_received"), ("B", "predicted")):
            values = self.evaluate(since_start(self.expr("Frame rate in and out", ref)))
            for name in STREAMS:
                with self.subTest(key, stream=name):
                    self.assert_near(one(values, stream=name), self.live.summary[name][key], key)

    def test_drops_agree_with_the_summary(self):
        values = self.evaluate(since_start(self.expr("Drops by reason")))
        for name in STREAMS:
            for reason, frames in self.live.summary[name]["dropped"].items():
                with self.subTest(reason, stream=name):
                    self.assert_near(one(values, stream=name, reason=reason), frames, reason, 2)
        self.assertGreater(self.live.summary["crowded"]["dropped"]["queue_full"], 0)

    def test_share_of_drops_agrees_with_the_summary(self):
        crowded = self.live.summary["crowded"]
        share = sum(crowded["dropped"].values()) / crowded["frames_received"]
        self.assert_near(
            one(self.evaluate(self.expr("Frames dropped")), stream="crowded"), share, "share"
        )

    def test_delays_agree_with_the_summary_within_a_bucket(self):
        bounds = sorted(
            {float(bound) for bound in re.findall(r'le="([\d.e+-]+)"', self.live.metrics)}
        )
        for ref, key in (("A", "p50"), ("B", "p99")):
            values = self.evaluate(since_start(self.expr("Delay, p50 and p99", ref)))
            for name in STREAMS:
                with self.subTest(key, stream=name):
                    delay_s = one(values, stream=name)
                    low = max((bound for bound in bounds if bound < delay_s), default=0)
                    high = min((bound for bound in bounds if bound >= delay_s), default=delay_s)
                    expected_s = self.live.summary[name]["delay_ms"][key] / 1000
                    self.assertGreaterEqual(expected_s, 0.95 * low)
                    self.assertLessEqual(expected_s, 1.05 * high)

    def test_loss_ratio_of_the_last_200_agrees_with_the_summary(self):
        for panel, ref in (("Loss ratio, last 200", "A"), ("Loss against no motion", "B")):
            values = self.evaluate(self.expr(panel, ref))
            for name in STREAMS:
                with self.subTest(panel, stream=name):
                    expected = self.live.summary[name]["ratio_last_200"]
                    self.assert_near(one(values, stream=name), expected, panel)

    def test_loss_ratio_of_a_window_agrees_with_the_summary(self):
        for name in STREAMS:
            with self.subTest(stream=name):
                window_s = self.window_of_the_last_200_s(name)
                values = self.evaluate(self.expr("Loss against no motion"), window_s=window_s)
                expected = self.live.summary[name]["ratio_last_200"]
                self.assert_near(one(values, stream=name), expected, "ratio")

    def test_stages_agree_with_the_summary(self):
        updates = self.evaluate(since_start(self.expr("Updates by stage")))
        staleness = self.evaluate(self.expr("Staleness by stage"))
        for name in STREAMS:
            for i, stage in enumerate(self.live.summary[name]["stages"]):
                labels = {"stream": name, "stage": str(i + 1)}
                self.assert_near(
                    one(updates, **labels), self.live.summary[name]["updates"][i], "updates"
                )
                self.assertEqual(one(staleness, **labels), stage["staleness"])

    def test_every_frame_is_accounted_for_in_every_scrape(self):
        for name in STREAMS:
            metric = f'millrace_service_frames_unaccounted{{stream="{name}"}}'
            self.assertEqual({value for _, value in self.live.prometheus.samples(metric)}, {0})
            self.assertEqual(one(self.evaluate(self.expr("Frames unaccounted")), stream=name), 0)


if __name__ == "__main__":
    unittest.main()
