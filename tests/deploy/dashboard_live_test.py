"""The dashboards on a real Prometheus that scrapes the real server: every query answers, moves with
the traffic, and agrees with the summary that the server writes at its end."""

import json
import math
import re
import unittest
from collections.abc import Collection

import yaml

import dashboard
import live_run
from millrace_testing import millrace_process
from prometheus_process import Prometheus, one
import trouble_run

ALERTS = millrace_process.ROOT / "deploy/prometheus/alerts.yml"
STREAMS = live_run.STREAMS

# What never moves, and why. By dashboard panel and query.
CONSTANT = {
    ("Version", "A"): "one version runs",
    ("Frames unaccounted", "A"): "anything but 0 is a bug",
}
# What moves only where something goes wrong.
TROUBLE = {
    ("Configuration holds", "A"), ("What is not finite", "A"), ("What is not finite", "B"),
    ("Rolled back", "A"), ("Drift", "A"), ("Planned again", "A"), ("Promised delay", "A"),
    ("Learned from, one frame in", "A"),
}
# What is not there at all, and why.
ABSENT = {("GPU memory", "A"): "there is no GPU"}
# Of the run: how often queries are asked at most, and over which window.
TIMES = 40
WINDOW_S = 2

_RATE = re.compile(r"rate\((\w+\{[^}]*\})\[\$__rate_interval\]\)")


def since_start(expr: str) -> str:
    """The same figure of the whole run, instead of a window: rates of counters become counters."""
    return _RATE.sub(r"\1", expr)


def finite_values(prometheus: Prometheus, query: dashboard.Query, begin: float,
                  end: float) -> dict[tuple, set[float]]:
    """All finite figures of each series that the query gives from `begin` to `end`."""
    filled_in = dashboard.filled_in(query.expr, f"{WINDOW_S}s")
    values = prometheus.values_between(filled_in, begin, end)
    return {labels: {v for v in of_series if math.isfinite(v)}
            for labels, of_series in values.items()}  # fmt: skip


class DashboardLiveTest(unittest.TestCase):
    """One run of both for all tests, which only read its results."""

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
        """The query's result at `time` (the run's end), over the window of "steady"."""
        window = f"{round((window_s or self.window_s()) * 1000)}ms"
        filled_in = dashboard.filled_in(expr, window, "|".join(STREAMS))
        return self.live.prometheus.values(filled_in, time or self.live.end)

    def assert_near(self, value: float, expected: float, what: str, slack: float = 0):
        """Within 5 %, or `slack` where that is more."""
        self.assertAlmostEqual(value, expected, delta=max(0.05 * abs(expected), slack), msg=what)

    def each_query(self, *left_out: Collection[tuple[str, str]]):
        """Every query of every dashboard, by a name for it."""
        for name, queries in self.all_queries.items():
            for query in queries:
                if not any((query.panel, query.ref) in out for out in left_out):
                    yield f"{name}: {query}", query

    def times(self) -> list[float]:
        """Of scrapes, from when both judged streams have frames in a whole window to the run's end.
        A scrape that took too long is none: it leaves nothing to be seen until the next."""
        begin = max(self.live.begin.values()) + WINDOW_S + 1
        scraped = [time for time, up in self.live.prometheus.samples("up")
                   if up == 1 and begin <= time <= self.live.end]
        self.assertTrue(scraped)
        return scraped[:: math.ceil(len(scraped) / TIMES)]

    def test_every_query_gives_a_finite_figure_for_every_stream_at_any_time(self):
        for what, query in self.each_query(ABSENT):
            with self.subTest(what):
                for time in self.times():
                    series = self.evaluate(query.expr, time, WINDOW_S)
                    self.assertGreaterEqual(len(series), 1)
                    wrong = {labels: v for labels, v in series.items() if not math.isfinite(v)}
                    self.assertEqual(wrong, {}, f"at {time - self.live.begin['steady']:.1f} s")
                    if "$stream" in query.expr:
                        streams = {dict(labels).get("stream") for labels in series}
                        self.assertEqual(streams, set(STREAMS))

    def values_by_series(self, query: dashboard.Query) -> dict[tuple, set[float]]:
        """All finite figures that the query gives during the run, of all streams."""
        return finite_values(self.live.prometheus, query, self.live.begin["steady"], self.live.end)

    def test_every_query_moves(self):
        for what, query in self.each_query(ABSENT, CONSTANT, TROUBLE):
            with self.subTest(what):
                values = self.values_by_series(query)
                self.assertGreater(max(map(len, values.values()), default=0), 1, values)

    def test_what_is_said_to_be_constant_is_and_there_is_no_more_of_it(self):
        queries = {(query.panel, query.ref): query for _, query in self.each_query()}
        self.assertLessEqual({*CONSTANT, *TROUBLE, *ABSENT}, set(queries))
        for key in {*CONSTANT, *TROUBLE}:
            with self.subTest(key):
                values = self.values_by_series(queries[key])
                self.assertEqual({len(of_series) for of_series in values.values()}, {1}, values)
        for key in ABSENT:
            self.assertEqual(self.values_by_series(queries[key]), {})

    def test_the_rest_moves_where_something_goes_wrong(self):
        with trouble_run.trouble_run() as prometheus:
            scraped = [time for time, _ in prometheus.samples("up")]
            for what, query in self.each_query():
                if (query.panel, query.ref) in TROUBLE:
                    with self.subTest(what):
                        values = finite_values(prometheus, query, scraped[0], scraped[-1])
                        self.assertGreater(max(map(len, values.values()), default=0), 1, values)

    def test_a_stream_has_at_most_28_series_beside_its_histogram(self):
        for name in STREAMS:
            of_stream = [line for line in self.live.metrics.splitlines()
                         if f'stream="{name}"' in line]  # fmt: skip
            delays = [line for line in of_stream if "_delay_seconds_" in line]
            self.assertLessEqual(len(of_stream) - len(delays), 28, of_stream)
            self.assertLessEqual(sum("_bucket{" in line for line in delays), 20)

    def test_states_are_named_as_the_metrics_help_numbers_them(self):
        for panel, metric in (("Camera's state", "millrace_ingest_source_state"),
                              ("Learner's state", "millrace_pipeline_learner_state"),
                              ("Overload", "millrace_service_overload")):  # fmt: skip
            [help_text] = re.findall(rf"^# HELP {metric} .*: (.*)\.$", self.live.metrics, re.MULTILINE)
            [mappings] = {
                json.dumps(one["fieldConfig"]["defaults"]["mappings"][0]["options"])
                for each in dashboard.load_all().values()
                for one in dashboard.panels(each) if one["title"] == panel
            }  # fmt: skip
            named = {int(code): state["text"] for code, state in json.loads(mappings).items()}
            self.assertEqual(
                named, {int(code): name for code, name in re.findall(r"(\d) (\w+)", help_text)}
            )

    def test_every_metric_of_dashboards_and_alerts_exists(self):
        exist = set(re.findall(r"^# TYPE (\w+)", self.live.metrics, re.MULTILINE))
        rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
        expressions = [rule["expr"] for rule in rules]
        for one in dashboard.load_all().values():
            expressions += dashboard.all_expressions(one)
        for expr in expressions:
            named = dashboard.metrics_named(expr)
            self.assertLessEqual(named, exist, expr)
            # That the server is there, and the watchdog, are of no metric of ours.
            self.assertTrue(named or "up{" in expr or expr == "vector(1)", expr)

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

    def test_a_subscriber_shows(self):
        samples = self.live.prometheus.samples("millrace_service_subscribers")
        for count in (0, 1):
            first = next(time for time, subscribers in samples if subscribers == count)
            self.assertEqual(one(self.evaluate(self.expr("Subscribers"), first)), count)

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
        of_bucket = r'_delay_seconds_bucket\{.*le="([\d.e+-]+)"'
        bounds = sorted({float(bound) for bound in re.findall(of_bucket, self.live.metrics)})
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

    def test_loss_ratio_of_a_window_agrees_with_the_summary(self):
        for name in STREAMS:
            with self.subTest(stream=name):
                window_s = self.window_of_the_last_200_s(name)
                values = self.evaluate(self.expr("Loss against no motion"), window_s=window_s)
                expected = self.live.summary[name]["ratio_last_200"]
                self.assert_near(one(values, stream=name), expected, "ratio")

    def test_updates_agree_with_the_summary(self):
        updates = self.evaluate(since_start(self.expr("Updates")))
        for name in STREAMS:
            self.assert_near(
                one(updates, stream=name), min(self.live.summary[name]["updates"]), "updates"
            )

    def test_every_frame_is_accounted_for_in_every_scrape(self):
        samples = self.live.prometheus.samples("millrace_service_frames_unaccounted")
        self.assertEqual({value for _, value in samples}, {0})
        self.assertEqual(one(self.evaluate(self.expr("Frames unaccounted"))), 0)


if __name__ == "__main__":
    unittest.main()
