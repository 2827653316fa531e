"""`millrace plan`: the JSON of every schedule, its figures, files and errors."""

import json
import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

from millrace_testing.millrace_process import config, run, test_stream

SCHEDULES = (
    "sequential", "one_f_one_b_star", "one_f_one_b_one_w", "partime", "recompute", "stale", "hybrid", "local",
    "pipedream", "pipedream_2bw", "gpipe", "timeprest", "k_periodic", "interleaved", "delayed")

# Four equal stages, forward 1, backward 2: schedule, options, period, delay, slots, mismatch, staleness.
TABLE = [
    ("sequential", [], 12, 4, [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]),
    ("partime", [], 3, 4, [1, 1, 1, 1], [6, 4, 2, 0], [6, 4, 2, 0]),
    ("stale", [], 3, 4, [7, 5, 3, 1], [0, 0, 0, 0], [6, 4, 2, 0]),
    ("one_f_one_b_star", [], 3, 4, [4, 3, 2, 1], [0, 0, 0, 0], [3, 2, 1, 0]),
    ("one_f_one_b_star", ["--period-ms", "6"], 6, 4, [2, 2, 1, 1], [0, 0, 0, 0], [1, 1, 0, 0]),
    ("one_f_one_b_star", ["--period-ms", "12"], 12, 4, [1, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]),
]


class PlanTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="millrace-plan.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.costs = self.write([{"forward_ms": 1, "backward_ms": 2}] * 4)

    def write(self, layers, **more):
        path = self.folder / "costs.json"
        path.write_text(json.dumps({"layers": layers, **more}))
        return str(path)

    def plan(self, *arguments):
        result = run("plan", "--costs", self.costs, "--json", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def assert_refused(self, part, *arguments):
        result = run("plan", *arguments)
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertEqual(result.stdout, "")
        self.assertIn(part, result.stderr)

    def test_figures_are_those_of_the_table(self):
        for schedule, options, period, delay, slots, mismatch, staleness in TABLE:
            with self.subTest(schedule=schedule, options=options):
                plan = self.plan("--devices", "4", "--schedule", schedule, *options)
                self.assertEqual(plan["schedule"], schedule)
                self.assertAlmostEqual(plan["period_ms"], period)
                self.assertAlmostEqual(plan["delay_ms"], delay)
                self.assertEqual([stage["slots"] for stage in plan["stages"]], slots)
                self.assertEqual([stage["mismatch"] for stage in plan["stages"]], mismatch)
                self.assertEqual([stage["staleness"] for stage in plan["stages"]], staleness)

    def test_every_schedule_has_each_operation_once(self):
        for schedule in SCHEDULES:
            with self.subTest(schedule=schedule):
                plan = self.plan("--devices", "4", "--schedule", schedule)
                samples = plan["samples_per_pattern"]
                done = [
                    (operation["stage"], operation["kind"], operation["sample"] + i)
                    for operation in plan["operations"] for i in range(operation["span"])]
                self.assertEqual(len(done), len(set(done)))
                kinds = 4 if schedule == "one_f_one_b_one_w" else 3
                self.assertEqual(len(done), len(plan["stages"]) * kinds * samples)
                self.assertEqual("then" in plan, schedule == "hybrid")

    def test_the_table_and_the_comparison_are_printed(self):
        result = run("plan", "--costs", self.costs, "--stages", "1,3", "--schedule", "partime")
        self.assertEqual(result.returncode, 0, result.stderr)
        for part in ("staleness", "period", "delay", "bottleneck", "stage 2 (layers 1-3)", "speed-up"):
            self.assertIn(part, result.stdout)
        comparison = run("plan", "--costs", self.costs, "--devices", "4", "--compare")
        self.assertEqual(comparison.returncode, 0, comparison.stderr)
        for schedule in SCHEDULES:
            self.assertIn(schedule, comparison.stdout)

    def test_drawings_are_valid(self):
        svg, trace = self.folder / "plan.svg", self.folder / "plan.json"
        self.plan("--devices", "4", "--schedule", "stale", "--svg", str(svg), "--trace", str(trace))
        self.assertTrue(xml.etree.ElementTree.parse(svg).getroot().tag.endswith("svg"))
        events = json.loads(trace.read_text())
        self.assertIn("F1(0)", [event["name"] for event in events])
        self.assertTrue(all(event["ph"] in "XM" for event in events))

    def test_auto_finds_a_plan_for_the_rate(self):
        plan = self.plan("--devices", "4", "--schedule", "auto", "--period-ms", "100")
        self.assertEqual(plan["schedule"], "auto: one_f_one_b_star")
        self.assertEqual([stage["staleness"] for stage in plan["stages"]], [0] * len(plan["stages"]))
        self.assertEqual((plan["update_every"], plan["holds"]), (1, True))
        hurried = self.plan(
            "--devices", "4", "--schedule", "auto", "--period-ms", "0.3", "--spread", "0.2")
        self.assertEqual((hurried["update_every"], hurried["holds"]), (0, False))
        self.assertEqual(hurried["spread"], 0.2)
        self.assertGreater(hurried["dropped_share"], 0.5)
        self.assertIn("layer 0 alone takes 3 of the 12 ms", hurried["limit"])
        self.assert_refused("--period-ms", "--costs", self.costs, "--schedule", "auto")

    @unittest.skipUnless("--config" in run("plan", "--help").stdout, "this program measures nothing")
    def test_a_configured_model_is_measured_and_its_costs_are_read_back(self):
        path, saved = self.folder / "millrace.yaml", self.folder / "saved.json"
        streams = [test_stream("gate"), test_stream("road", schedule={"stages": 3, "devices": "auto"})]
        path.write_text(json.dumps(config(streams=streams)))
        result = run("plan", "--config", str(path), "--stream", "road", "--save-costs", str(saved), "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        # A slow machine takes long enough for progress to be told.
        self.assertEqual([line for line in result.stderr.splitlines() if not line.startswith("[")], [])
        measured = json.loads(result.stdout)
        self.assertEqual(measured["schedule"], "one_f_one_b_star")
        self.assertEqual(len(measured["stages"]), 3)
        costs = json.loads(saved.read_text())
        self.assertEqual(len(costs["layers"]), 7)
        for key in ("forward_ms", "backward_ms", "weight_gradient_ms", "output_bytes", "activation_bytes"):
            # The prior has no backward.
            self.assertTrue(all(layer[key] > 0 for layer in costs["layers"][1:]), key)
        self.assertGreater(costs["spread"], 0)
        self.assertGreater(costs["copy_gb_per_s"], 0)
        read_back = run("plan", "--costs", str(saved), "--devices", "3", "--json")
        self.assertEqual(json.loads(read_back.stdout), measured)
        self.assert_refused("gate, road", "--config", str(path))
        self.assert_refused("no stream rood", "--config", str(path), "--stream", "rood")

    def test_stages_on_other_hosts(self):
        layer = {"forward_ms": 1, "backward_ms": 2, "output_bytes": 1e6, "weight_bytes": 1e5}
        self.costs = self.write([layer] * 4, input_bytes=1e5)
        hosts = ("--schedule", "partime", "--stages", "2,2", "--stages-on", "1,0")
        slow = self.plan(*hosts, "--link", "200mbit")
        # Host 0 receives the activations, and the copies of two layers with one number more a weight. It sends the
        # gradients and the input.
        [load, _] = slow["hosts"]["loads"]
        self.assertAlmostEqual(load["received_bytes"], 1e6 + 2 * 2 * 1e5 / 100)
        self.assertAlmostEqual(load["sent_bytes"], 1.1e6)
        self.assertEqual((slow["bottleneck"]["kind"], slow["bottleneck"]["host"]), ("link", 0))
        self.assertAlmostEqual(slow["bottleneck"]["load_ms"], 1.1e6 / 25e3)
        self.assertGreaterEqual(slow["period_ms"], slow["bottleneck"]["load_ms"])
        quick = self.plan(*hosts, "--link", "10Gbps")
        self.assertEqual(quick["bottleneck"]["kind"], "stage")
        self.assertAlmostEqual(quick["period_ms"], 6)
        drawing = self.folder / "plan.svg"
        result = run("plan", "--costs", self.costs, *hosts, "--link", "200mbit", "--svg", str(drawing))
        for part in ("2 stages on 2 devices of 2 hosts", "ms at 200 Mbit/s", "gradients", "the link of host 0"):
            self.assertIn(part, result.stdout)
        self.assertIn("stage 1, host 1", drawing.read_text())
        self.assert_refused("'1 apple' is no rate", "--costs", self.costs, *hosts, "--link", "1 apple")
        self.assert_refused("fall from stage to stage", "--costs", self.costs, "--stages-on", "2,0")

    def test_a_split_backward(self):
        layers = [{"forward_ms": 1, "backward_ms": 2, "weight_gradient_ms": 1}] * 4
        self.costs = self.write(layers)
        split = self.plan("--schedule", "one_f_one_b_one_w", "--stages", "1,1,1,1", "--period-ms", "4")
        whole = self.plan("--schedule", "one_f_one_b_star", "--stages", "1,1,1,1", "--period-ms", "4")

        def lags(plan):
            return [stage["staleness"] + stage["gradient_age"] for stage in plan["stages"]]

        self.assertEqual(lags(split), [2, 1, 1, 0])
        self.assertEqual(lags(whole), [3, 2, 1, 0])
        first = [operation for operation in split["operations"] if operation["stage"] == 1]
        self.assertEqual([o["kind"] for o in first], ["forward", "weight_gradient", "update", "backward"])
        self.assertNotIn("weights", first[1])
        svg = self.folder / "plan.svg"
        self.plan("--schedule", "one_f_one_b_one_w", "--stages", "1,1,1,1", "--period-ms", "4", "--svg", str(svg))
        self.assertIn("weight gradient", svg.read_text())
        # `auto` takes it where that means less staleness.
        self.costs = self.write([{"forward_ms": 0.5, "backward_ms": 1, "weight_gradient_ms": 0.5}] * 8)
        found = self.plan("--schedule", "auto", "--devices", "4", "--period-ms", "4.6")
        self.assertEqual(found["schedule"], "auto: one_f_one_b_one_w")
        self.assertTrue(found["holds"])

    def test_options_of_single_schedules(self):
        gpipe = self.plan("--schedule", "gpipe", "--micro-batches", "3", "--recompute", "never")
        self.assertEqual(gpipe["samples_per_pattern"], 3)
        self.assertEqual(gpipe["stages"][0]["inputs"], 0)
        separate = self.plan("--schedule", "stale", "--separate-backwards", "--devices", "5")
        self.assertEqual(len(separate["stages"]), 3)
        placed = self.plan(
            "--schedule", "interleaved", "--stages", "1,2,1", "--placement", "0,1,0")
        self.assertEqual([stage["device"] for stage in placed["stages"]], [0, 1, 0])
        hybrid = self.plan("--schedule", "hybrid", "--switch-at", "70")
        self.assertEqual(hybrid["then"]["first_sample"], 70)

    def test_errors_say_what_to_do(self):
        self.assert_refused("--costs")
        self.assert_refused("no/such.json", "--costs", "no/such.json")
        self.assert_refused("did you mean 'gpipe'? it must be one of", "--costs", self.costs, "--schedule", "gpipes")
        self.assert_refused("add up to the 4 layers", "--costs", self.costs, "--stages", "1,2")
        self.assert_refused("1 to 4", "--costs", self.costs, "--devices", "5")
        self.assert_refused("--devices", "--costs", self.costs, "--devices", "0")
        self.assert_refused("--period-ms", "--costs", self.costs, "--period-ms", "-1")
        bad = self.write([{"name": "up", "forward_ms": -1}])
        self.assert_refused("layer 0 (up): forward_ms is -1", "--costs", bad)
        heavy = self.write([{"forward_ms": 1, "weight_bytes": 9}] * 3, memory_bytes=10)
        self.assert_refused("3 devices would do", "--costs", heavy, "--devices", "2")


if __name__ == "__main__":
    unittest.main()
