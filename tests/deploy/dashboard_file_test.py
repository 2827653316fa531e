"""The dashboards are what Grafana needs and an operator wants."""

import copy
import sys
import unittest

import dashboard
from dashboard_problems import problems


sys.path.append(str(dashboard.FOLDER))
import make  # noqa: E402


class DashboardsTest(unittest.TestCase):
    def test_there_are_those_that_were_promised(self):
        self.assertEqual(
            set(dashboard.load_all()), {"overview", "stream", "learner", "api", "runtime"}
        )

    def test_files_are_as_they_are_described(self):
        texts = make.texts()
        self.assertEqual(set(texts), {path.name for path in dashboard.FOLDER.glob("*.json")})
        for name, text in texts.items():
            self.assertTrue(
                text == (dashboard.FOLDER / name).read_text(),
                f"{name} is not what panels.yaml says: run dashboards/make.py",
            )

    def test_have_no_problems(self):
        for name, one in dashboard.load_all().items():
            with self.subTest(name):
                self.assertEqual(problems(one), [])

    def test_each_has_an_address_of_its_own(self):
        uids = [one["uid"] for one in dashboard.load_all().values()]
        self.assertEqual(len(uids), len(set(uids)))

    def test_every_panel_that_is_described_is_somewhere(self):
        described = make.yaml.safe_load((make.HERE / "panels.yaml").read_text())
        used = {
            name
            for one in described["dashboards"].values()
            for row in one["rows"]
            for name, _ in row["panels"]
        }
        self.assertEqual(used, set(described["panels"]))


class OverviewTest(unittest.TestCase):
    def test_shows_what_an_operator_asks_first(self):
        titles = {panel["title"] for panel in dashboard.panels(dashboard.load())}
        self.assertLessEqual(
            {
                "Frame rate in and out",
                "Delay, p50 and p99",
                "Loss against no motion",
                "Drops by reason",
                "Frames unaccounted",
            },
            titles,
        )

    def test_draws_a_line_where_the_model_is_no_better_than_none(self):
        [panel] = [
            p
            for p in dashboard.panels(dashboard.load())
            if p["title"] == "Loss against no motion" and p["type"] == "timeseries"
        ]
        defaults = panel["fieldConfig"]["defaults"]
        self.assertIn(defaults["custom"]["thresholdsStyle"]["mode"], ("line", "dashed"))
        self.assertEqual([step["value"] for step in defaults["thresholds"]["steps"]], [None, 1])


class ProblemsTest(unittest.TestCase):
    """The validator itself: each defect that it knows, planted in the good dashboard."""

    def assert_finds(self, what: str, plant):
        broken = copy.deepcopy(dashboard.load())
        plant(broken)
        found = problems(broken)
        self.assertTrue(any(what in problem for problem in found), f"{what} is not in {found}")

    def test_finds_what_is_planted(self):
        def panel(broken):
            return dashboard.panels(broken)[2]

        defects = {
            "two panels have the same id": lambda d: panel(d).update(id=d["panels"][-1]["id"]),
            "lies over": lambda d: panel(d)["gridPos"].update(w=5),
            "does not fit": lambda d: d["panels"][-1]["gridPos"].update(w=7),
            "of the unknown type": lambda d: panel(d).update(type="graph"),
            "its data source is fixed": lambda d: panel(d).update(datasource={"uid": "abc"}),
            "the refIds": lambda d: panel(d)["targets"].append(panel(d)["targets"][0]),
            "no expression": lambda d: panel(d)["targets"][0].update(expr=" "),
            "ignores the variable stream": lambda d: panel(d)["targets"][0].update(
                expr="millrace_a"
            ),
            "its unit": lambda d: panel(d)["fieldConfig"]["defaults"].pop("unit"),
            "do not rise": lambda d: panel(d)["fieldConfig"]["defaults"]["thresholds"]["steps"][
                1
            ].update(value=99),
            "what good looks like": lambda d: panel(d).update(description=""),
            "its variables": lambda d: d["templating"]["list"].pop(),
            "schemaVersion": lambda d: d.update(schemaVersion=16),
            "it has an id": lambda d: d.update(id=7),
        }
        for what, plant in defects.items():
            with self.subTest(what):
                self.assert_finds(what, plant)


if __name__ == "__main__":
    unittest.main()
