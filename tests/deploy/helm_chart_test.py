"""The chart of deploy/helm agrees with deploy/kubernetes. There is no Helm here: words replace its expressions, and the
result must be YAML."""

import json
import re
import tempfile
import textwrap
import unittest

import yaml

from millrace_testing import millrace_process, shipped_config

DEPLOY = millrace_process.ROOT / "deploy"
CHART = DEPLOY / "helm/millrace"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
TEMPLATES = {path.name: path.read_text() for path in (CHART / "templates").iterdir()}
_ACTION = re.compile(r"\{\{-? *(.*?) *-?\}\}")


def filled_in(template: str) -> str:
    """With a word where the template says a value, and every condition held."""
    def file(found: re.Match) -> str:
        return textwrap.indent((CHART / found[2]).read_text(), found[1])

    # Files come last: what they hold is theirs.
    text = re.sub(r'\{\{- \.Files\.Get "(\S+)" \| nindent \d+ \}\}', r"file \1", template)
    text = re.sub(r"^ *\{\{-.*\}\}\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\{\{- toYaml .*?\}\}", "{}", text)
    return re.sub(r"^( *)file (\S+)\n", file, _ACTION.sub("word", text), flags=re.MULTILINE)


def resources(text: str) -> dict[str, dict]:
    """By kind; there is one of each kind."""
    found = [one for one in yaml.safe_load_all(text) if one]
    return {one["kind"]: one for one in found}


def chart() -> dict[str, dict]:
    return {kind: one for text in TEMPLATES.values() for kind, one in resources(filled_in(text)).items()}


def paths(values: dict, to: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Of every value that has none below it."""
    if not isinstance(values, dict):
        return {to}
    return set().union(*(paths(value, (*to, name)) for name, value in values.items()))


def without(mapping: dict, *names: str) -> dict:
    return {name: value for name, value in mapping.items() if name not in names}


class ChartTest(unittest.TestCase):
    def setUp(self):
        self.chart = chart()
        self.plain = resources((DEPLOY / "kubernetes/millrace.yaml").read_text())
        self.monitoring = resources((DEPLOY / "kubernetes/monitoring.yaml").read_text())

    def test_has_all_that_kubernetes_gets_without_it(self):
        self.assertEqual(set(self.chart), set(self.plain) | set(self.monitoring))

    def test_its_pod_is_that_of_the_manifest(self):
        specs = [each["StatefulSet"]["spec"]["template"]["spec"] for each in (self.chart, self.plain)]
        [ours], [plain] = (spec["containers"] for spec in specs)
        mounts = [mount for mount in ours["volumeMounts"] if mount["name"] != "secret"]
        self.assertEqual(mounts, plain["volumeMounts"])
        chosen = ("image", "imagePullPolicy", "resources", "volumeMounts")
        self.assertEqual(without(ours, *chosen), without(plain, *chosen))
        others = ("containers", "volumes")
        self.assertEqual(without(specs[0], *others), without(specs[1], *others))

    def test_its_learner_is_one_as_in_the_manifest(self):
        ours, plain = (each["StatefulSet"]["spec"] for each in (self.chart, self.plain))
        for key in ("replicas", "updateStrategy"):
            self.assertEqual(ours[key], plain[key])

    def test_its_service_has_the_ports_of_the_manifest(self):
        ours, plain = (each["Service"]["spec"] for each in (self.chart, self.plain))
        self.assertEqual(without(ours, "selector"), without(plain, "selector"))

    def test_its_policy_lets_in_whom_the_manifest_does(self):
        ours, plain = (each["NetworkPolicy"]["spec"] for each in (self.chart, self.plain))
        [clients] = ours["ingress"][0]["from"]
        clients["podSelector"]["matchLabels"] = VALUES["networkPolicy"]["clients"]
        self.assertEqual(ours, plain)

    def test_its_monitoring_is_that_of_the_manifest(self):
        for kind, plain in self.monitoring.items():
            self.assertEqual(self.chart[kind], plain)

    def test_its_configuration_is_one(self):
        for stream in VALUES["streams"].values():
            ports = {"grpc_port": 50051, "http_port": 8080, "metrics_port": 9464}
            configuration = {**stream["config"], "version": 1, "listen": {**VALUES["listen"], **ports},
                             "checkpoints": {"folder": "/var/lib/millrace"}}
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(shipped_config.in_checkout(json.dumps(configuration), tempfile.gettempdir()))
                file.flush()
                run = millrace_process.run("check-config", file.name)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_its_ports_are_those_that_it_configures(self):
        [configured] = re.findall(r"\$listen := merge \(dict (.*?)\)", TEMPLATES["streams.yaml"])
        ports = {int(number) for number in re.findall(r"\d+", configured)}
        self.assertEqual(ports, {port["port"] for port in self.chart["Service"]["spec"]["ports"]})


class ValuesTest(unittest.TestCase):
    text = "\n".join(TEMPLATES.values())

    def used(self) -> set[tuple[str, ...]]:
        named = {tuple(found.split(".")) for found in re.findall(r"\.Values\.([\w.]+)", self.text)}
        of_streams = set(re.findall(r"\$stream\.(\w+)", self.text))
        return (named - {("streams",)}) | {("streams", "street", name) for name in of_streams}

    def test_every_value_is_used(self):
        for path in paths(VALUES):
            self.assertTrue(any(path[:len(use)] == use for use in self.used()), f"nothing uses {path}")

    def test_every_value_that_is_used_is_there(self):
        for use in self.used():
            value = VALUES
            for name in use:
                self.assertIn(name, value, f"values.yaml has no {'.'.join(use)}")
                value = value[name]

    def test_every_block_has_an_end(self):
        for name, text in TEMPLATES.items():
            actions = _ACTION.findall(text)
            opened = [action for action in actions if action.split()[0] in ("if", "range", "with")]
            self.assertEqual(len(opened), actions.count("end"), name)

    def test_says_that_helm_has_not_rendered_it(self):
        self.assertIn("**Helm has not rendered it yet**", (CHART.parent / "README.md").read_text())


if __name__ == "__main__":
    unittest.main()
