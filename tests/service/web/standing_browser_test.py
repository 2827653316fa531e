"""The state of streams as text: every combination of states, by the page's own functions in a real browser. Usage:
standing_browser_test.py DEMO_SERVER"""

import itertools
import json
import pathlib
import sys
import unittest

from demo_process import DemoServer
from millrace_testing.browser import open_browser

PROGRAM = pathlib.Path(sys.argv.pop(1))

CAUSE = "drops 21 of 25 frames a second"

# What the server may say of a stream, by what it may say it of.
STATES = {
    "ok": [True, False],
    "mode": ["learning", "frozen", "paused"],
    "every": [1, 0],
    "source": ["streaming", "connecting", "stalled", "backing off", "waiting", "failed", "ended"],
    "overload": ["none", "learns_less", "only_predicts", "drops"],
    "predictions": [57, 200],
    "predicted": [405, 5000],
    "explained": [None, -0.2, 0.004, 0.31],
    "spurious": [False, True],
    "gain": [None, 0.696, 0.999, 1.08, 100],
}

# Of a case whose predictions come, from the first row that fits: the tile's value, its note and tone, and the badge.
JUDGED = [
    (lambda c: c["explained"] is None, "–", "no prediction yet", "", None),
    (lambda c: c["predictions"] < 200 and c["explained"] < 0, "none", "of the first 57 frames", "", None),
    (lambda c: c["predictions"] < 200 and c["explained"] < 0.01, "0 %", "of the first 57 frames", "", None),
    (lambda c: c["predictions"] < 200, "31 %", "of the first 57 frames", "", None),
    (lambda c: c["spurious"] and c["explained"] < 0, "none", "it sees motion where nothing moves: this is noise",
     "wait", "sees motion where nothing moves"),
    (lambda c: c["spurious"] and c["explained"] < 0.01, "0 %", "it sees motion where nothing moves: this is noise",
     "wait", "sees motion where nothing moves"),
    (lambda c: c["spurious"], "31 %", "it sees motion where nothing moves: this is noise", "wait",
     "sees motion where nothing moves"),
    (lambda c: c["explained"] < 0 and c["predicted"] < 1000, "none",
     "yet: 20 % worse than seeing no motion; a cold start takes 1000 frames", "wait", None),
    (lambda c: c["explained"] < 0, "none", "20 % worse than seeing no motion", "bad", "worse than seeing no motion"),
    (lambda c: c["explained"] < 0.01, "0 %", "as good as seeing no motion", "", None),
    (lambda c: c["gain"] is None, "31 %", "of the last 200 frames", "good", None),
    (lambda c: c["gain"] < 0.7, "0.69×", "explains 31 % of the motion, of the last 200 frames", "", None),
    (lambda c: c["gain"] < 1, "0.99×", "explains 31 % of the motion, of the last 200 frames", "", None),
    (lambda c: c["gain"] > 31, "31 %", "of the last 200 frames", "good", None),
    (lambda c: True, "1.08×", "explains 31 % of the motion, of the last 200 frames", "good", None),
]


def stream_of(case: dict) -> dict:
    """As /api/streams says it."""
    gain = case["gain"]
    return {
        "name": "street",
        "source": {"state": case["source"], "cause": ""},
        "learner": {"ok": case["ok"], "cause": "", "state": case["mode"], "update_every": case["every"],
                    "labels": None},
        "frames": {"predicted": case["predicted"]},
        "overload": {"kind": case["overload"], "cause": "" if case["overload"] == "none" else CAUSE,
                     "remedy": "source.max_fps: 3"},
        "recent": {"predictions": case["predictions"], "window": 200, "explained": case["explained"],
                   "sees_spurious_motion": case["spurious"],
                   "reference": None if gain is None else {"name": "dis", "gain": gain}},
    }


def way_of(case: dict) -> str:
    if not case["ok"] or case["source"] != "streaming":
        return "over"
    if case["mode"] != "learning":
        return case["mode"]
    return "learning" if case["every"] else "only predicting"


def is_overloaded(case: dict) -> bool:
    return way_of(case) not in ("over", "paused") and case["overload"] in ("only_predicts", "drops")


def expected(case: dict) -> dict:
    """What is to be said, by the tables above."""
    way = way_of(case)
    if way in ("over", "paused"):
        return {"tone": "", "badges": ["paused"] if way == "paused" else []}
    _, value, note, tone, badge = next(row for row in JUDGED if row[0](case))
    overloaded = is_overloaded(case)
    badges = [way] if way != "learning" and not (way == "only predicting" and overloaded) else []
    badges += [CAUSE] if overloaded else []
    badges += [badge] if badge else []
    badges += [CAUSE] if case["overload"] == "learns_less" else []  # As planned: it stays green.
    return {"value": value, "note": note, "tone": tone, "badges": badges}


class StandingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = DemoServer(PROGRAM)
        cls.browser = open_browser(800, 600)
        cls.browser.get(cls.server.page)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.stop()

    def said_of(self, streams: list[dict]) -> list[dict]:
        said = self.browser.execute_async_script("""
            const [streams, done] = arguments;
            import("/standing.js").then(({motionOf, stateOf, standingOf, sumUp, troublesOf}) =>
              done(JSON.stringify(JSON.parse(streams).map(stream => ({
                motion: motionOf(stream), state: stateOf(stream), troubles: troublesOf(stream),
                both: sumUp([stream, stream]).replaceAll("\\u00a0", " "),
                heard: standingOf([stream])}))))).catch(error => done(String(error)));""", json.dumps(streams))
        return json.loads(said)

    def test_badges_tiles_and_the_line_on_top_agree_in_every_combination(self):
        cases = [dict(zip(STATES, values)) for values in itertools.product(*STATES.values())]
        for case, said in zip(cases, self.said_of([stream_of(case) for case in cases])):
            right = expected(case)
            texts = [trouble["text"] for trouble in said["troubles"]]
            self.assertEqual(texts, right["badges"], case)
            self.assertEqual(said["motion"]["tone"], right["tone"], case)
            if "value" in right:
                self.assertEqual((said["motion"]["value"], said["motion"]["note"]), (right["value"], right["note"]), case)
            self.assertEqual(said["state"]["cause"], "source.max_fps: 3" if is_overloaded(case) else "", case)
            self.assertEqual(said["heard"] == "street: learning",
                             way_of(case) == "learning" and not is_overloaded(case), case)
            well = way_of(case) == "learning" and all(trouble["tone"] == "" for trouble in said["troubles"])
            self.assertEqual(said["state"]["tone"] == "good", well, case)
            self.assertEqual(said["both"] == "Both streams learn", well, case)
            # A green figure beside a badge that speaks of learning would contradict it.
            if said["motion"]["tone"] == "good":
                self.assertFalse([text for text in texts if "motion" in text], case)

    def test_the_line_on_top_counts_what_is_not_well(self):
        bad = {"ok": True, "mode": "learning", "every": 1, "source": "streaming", "overload": "drops",
               "predictions": 200, "predicted": 5000, "explained": 0.3, "spurious": True, "gain": None}
        (said,) = self.said_of([stream_of(bad)])
        self.assertEqual(said["both"], "2 of 2 streams learn · 2 overloaded · 2 see motion where nothing moves")
        (said,) = self.said_of([stream_of(bad | {"spurious": False, "explained": -0.3})])
        self.assertEqual(said["both"], "2 of 2 streams learn · 2 overloaded · 2 worse than seeing no motion")

    def test_a_model_that_labels_judge_explains_no_motion(self):
        stream = stream_of({"ok": True, "mode": "learning", "every": 1, "source": "streaming", "overload": "none",
                            "predictions": 200, "predicted": 5000, "explained": None, "spurious": False, "gain": None})
        stream["learner"]["labels"] = {"classes": True}
        (said,) = self.said_of([stream])
        self.assertEqual((said["motion"]["tone"], said["troubles"]), ("", []))


if __name__ == "__main__":
    unittest.main()
