"""deploy/kubernetes agrees with itself, with the image, and with the server."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

from millrace_testing import millrace_process, shipped_config

DEPLOY = millrace_process.ROOT / "deploy"
FOLDER = DEPLOY / "kubernetes"
sys.path.append(str(FOLDER))
import make  # noqa: E402


def resources(name: str) -> dict[str, dict]:
    """By kind; there is one of each kind."""
    return {one["kind"]: one for one in yaml.safe_load_all((FOLDER / name).read_text())}


def validate(case: unittest.TestCase, text: str) -> None:
    """Against Kubernetes' schemas."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        run = subprocess.run(
            [millrace_process.ROOT / ".deps/venv/bin/kubernetes-validate", "--strict", file.name],
            text=True,
            capture_output=True,
            check=False,
        )
    case.assertEqual(run.returncode, 0, run.stdout + run.stderr)


def check_config(case: unittest.TestCase, config: str) -> None:
    """With a secret in the place of the pod's."""
    with tempfile.TemporaryDirectory() as folder:
        secret = pathlib.Path(folder) / "secret"
        secret.touch(mode=0o600)
        secret.write_text("0123456789abcdef")
        file = pathlib.Path(folder) / "millrace.yaml"
        text = shipped_config.in_checkout(config, tempfile.gettempdir())
        file.write_text(text.replace("/etc/millrace-ranks", folder))
        run = millrace_process.run("check-config", str(file))
    case.assertEqual(run.returncode, 0, run.stdout + run.stderr)


class MillraceTest(unittest.TestCase):
    def setUp(self):
        self.all = resources("millrace.yaml")
        self.pod = self.all["StatefulSet"]["spec"]["template"]
        [self.container] = self.pod["spec"]["containers"]
        self.config = self.all["ConfigMap"]["data"]["millrace.yaml"]

    def test_kubernetes_knows_all_of_it(self):
        validate(self, (FOLDER / "millrace.yaml").read_text())

    def test_its_configuration_is_one(self):
        check_config(self, self.config)

    def test_ports_are_those_of_the_configuration_and_the_image(self):
        listen = yaml.safe_load(self.config)["listen"]
        ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        self.assertEqual(
            ports,
            {
                "grpc": listen["grpc_port"],
                "page": listen["http_port"],
                "metrics": listen["metrics_port"],
            },
        )
        exposed = (DEPLOY / "Dockerfile").read_text().split("EXPOSE ")[1].splitlines()[0]
        self.assertEqual(sorted(ports.values()), sorted(map(int, exposed.split())))
        service = {port["name"]: port for port in self.all["Service"]["spec"]["ports"]}
        self.assertEqual({name: port["port"] for name, port in service.items()}, ports)
        for name, port in service.items():
            self.assertEqual(port["targetPort"], name)
        allowed = [
            port["port"]
            for rule in self.all["NetworkPolicy"]["spec"]["ingress"]
            for port in rule["ports"]
        ]
        self.assertEqual(sorted(allowed), sorted(ports))

    def test_probes_and_prometheus_reach_it_from_other_machines_also_beside_tls(self):
        listen = yaml.safe_load(self.config)["listen"]
        self.assertEqual((listen["address"], listen["allow_plain_text"]), ("0.0.0.0", True))

    def test_probes_are_those_that_the_server_answers(self):
        paths = {"startupProbe": "/startupz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
        for probe, path in paths.items():
            self.assertEqual(self.container[probe]["httpGet"], {"path": path, "port": "metrics"})

    def test_what_is_selected_is_there(self):
        labels = self.pod["metadata"]["labels"]
        self.assertEqual(self.all["StatefulSet"]["spec"]["selector"]["matchLabels"], labels)
        self.assertEqual(self.all["Service"]["spec"]["selector"], labels)
        policy = self.all["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]
        self.assertLessEqual(policy.items(), labels.items())
        self.assertEqual(
            self.all["StatefulSet"]["spec"]["serviceName"], self.all["Service"]["metadata"]["name"]
        )

    def test_there_is_one_learner_and_the_next_begins_when_it_has_ended(self):
        self.assertEqual(self.all["StatefulSet"]["spec"]["replicas"], 1)
        self.assertEqual(self.all["StatefulSet"]["spec"]["updateStrategy"], {"type": "RollingUpdate"})

    def test_is_applied_without_what_only_the_operator_knows(self):
        commands = re.findall(r"kubectl apply -f (\S+)", (FOLDER / "millrace.yaml").read_text())
        self.assertEqual(commands, ["deploy/kubernetes/millrace.yaml"])

    def test_containers_get_as_much_time_to_start_and_to_stop_everywhere(self):
        probe = self.container["startupProbe"]
        start_s = probe["periodSeconds"] * probe["failureThreshold"]
        stop_s = self.pod["spec"]["terminationGracePeriodSeconds"]
        self.assertIn(f" --start-period={start_s}s ", (DEPLOY / "Dockerfile").read_text())
        unit = (DEPLOY / "systemd/millrace.service").read_text()
        self.assertIn(f"\nTimeoutStartSec={start_s}\n", unit)
        compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["millrace"]
        self.assertEqual(compose["stop_grace_period"], f"{stop_s}s")

    def test_it_runs_as_the_images_user_and_writes_only_where_it_may(self):
        context = self.pod["spec"]["securityContext"]
        self.assertEqual(context["runAsUser"], 1000)
        self.assertIn("USER 1000:1000", (DEPLOY / "Dockerfile").read_text())
        self.assertTrue(self.container["securityContext"]["readOnlyRootFilesystem"])
        writable = {
            mount["mountPath"]
            for mount in self.container["volumeMounts"]
            if not mount.get("readOnly")
        }
        folder = yaml.safe_load(self.config)["checkpoints"]["folder"]
        self.assertEqual(writable, {folder, "/tmp"})

    def test_volumes_are_there(self):
        there = {volume["name"] for volume in self.pod["spec"]["volumes"]} | {
            claim["metadata"]["name"]
            for claim in self.all["StatefulSet"]["spec"]["volumeClaimTemplates"]
        }
        self.assertEqual({mount["name"] for mount in self.container["volumeMounts"]}, there)
        config = next(v for v in self.pod["spec"]["volumes"] if v["name"] == "config")
        self.assertEqual(config["configMap"]["name"], self.all["ConfigMap"]["metadata"]["name"])


class HostsTest(unittest.TestCase):
    def setUp(self):
        self.leader = resources("millrace.yaml")
        self.hosts = resources("hosts.yaml")
        self.set = resources("leaderworkerset.yaml")["LeaderWorkerSet"]
        self.with_hosts = self.leader["ConfigMap"]["data"]["millrace.yaml"].replace("# ranks:", "ranks:").replace(
            "# schedule:", "schedule:")
        self.config = yaml.safe_load(self.with_hosts)

    def test_kubernetes_knows_all_of_it(self):
        validate(self, (FOLDER / "hosts.yaml").read_text())
        template = self.set["spec"]["leaderWorkerTemplate"]
        pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name} | template[name]["metadata"],
                 "spec": template[name]["spec"]} for name in ("leaderTemplate", "workerTemplate")]
        for pod in pods:
            pod["metadata"]["name"] = "pod"
        others = [one for kind, one in resources("leaderworkerset.yaml").items() if kind != "LeaderWorkerSet"]
        self.assertEqual(len(others), 3)
        validate(self, yaml.safe_dump_all([*pods, *others]))

    def test_the_configuration_with_hosts_is_one(self):
        check_config(self, self.with_hosts)

    def test_there_are_as_many_processes_as_the_plan_needs(self):
        others = self.config["schedule"]["stages_on"][0]
        self.assertEqual(self.hosts["StatefulSet"]["spec"]["replicas"], others)
        self.assertEqual(self.set["spec"]["leaderWorkerTemplate"]["size"], 1 + others)

    def test_the_others_reach_the_leader_and_have_its_image_and_secret(self):
        leader = self.leader["StatefulSet"]
        [host] = self.hosts["StatefulSet"]["spec"]["template"]["spec"]["containers"]
        name, port = self.config["ranks"]["listen"].split(":")
        self.assertEqual(name, leader["metadata"]["name"] + "-0")
        self.assertEqual(host["args"], ["join", f"{name}.{leader['spec']['serviceName']}:{port}", "--secret-file",
                                        self.config["ranks"]["secret_file"]])
        self.assertEqual(host["image"], leader["spec"]["template"]["spec"]["containers"][0]["image"])
        secrets = [volume["secret"]["secretName"]
                   for one in (leader, self.hosts["StatefulSet"])
                   for volume in one["spec"]["template"]["spec"]["volumes"] if "secret" in volume]
        self.assertEqual(secrets, ["millrace-ranks"] * 2)

    def test_the_service_of_the_leader_selects_none_of_the_others(self):
        labels = self.hosts["StatefulSet"]["spec"]["template"]["metadata"]["labels"]
        selected = self.leader["Service"]["spec"]["selector"]
        self.assertFalse(selected.items() <= labels.items())
        for one in (labels, self.leader["StatefulSet"]["spec"]["template"]["metadata"]["labels"]):
            policy = self.hosts["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"]
            self.assertLessEqual(policy.items(), one.items())

    def test_the_policy_of_the_set_lets_its_pods_reach_each_other_and_clients_the_leader(self):
        every = resources("leaderworkerset.yaml")
        template = self.set["spec"]["leaderWorkerTemplate"]
        leader, worker = (template[name]["metadata"]["labels"] for name in ("leaderTemplate", "workerTemplate"))
        policy = every["NetworkPolicy"]["spec"]
        for labels in (leader, worker):
            self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items())
            inside = policy["ingress"][0]
            self.assertNotIn("ports", inside)
            self.assertLessEqual(inside["from"][0]["podSelector"]["matchLabels"].items(), labels.items())
        selected = every["Service"]["spec"]["selector"].items()
        self.assertLessEqual(selected, leader.items())
        self.assertFalse(selected <= worker.items())

    def test_all_pods_of_the_set_run_the_same_command(self):
        template = self.set["spec"]["leaderWorkerTemplate"]
        containers = [template[name]["spec"]["containers"][0] for name in ("leaderTemplate", "workerTemplate")]
        for key in ("image", "args", "securityContext"):
            self.assertEqual(containers[0][key], containers[1][key])


class MonitoringTest(unittest.TestCase):
    def setUp(self):
        self.all = resources("monitoring.yaml")

    def test_is_as_it_is_made(self):
        self.assertEqual((FOLDER / "monitoring.yaml").read_text(), make.monitoring(), "run make.py")
        self.assertEqual(make.CHART.read_text(), make.rules(), "run make.py")

    def test_alerts_are_those_that_are_tested(self):
        rules = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())
        self.assertEqual(self.all["PrometheusRule"]["spec"]["groups"], rules["groups"])

    def test_the_service_is_scraped_as_the_job_that_alerts_know(self):
        monitor = self.all["ServiceMonitor"]["spec"]
        labels = resources("millrace.yaml")["Service"]["metadata"]["labels"]
        self.assertLessEqual(monitor["selector"]["matchLabels"].items(), labels.items())
        self.assertEqual(labels[monitor["jobLabel"]], "millrace")
        [endpoint] = monitor["endpoints"]
        self.assertEqual((endpoint["port"], endpoint["path"]), ("metrics", "/metrics"))


class DashboardsTest(unittest.TestCase):
    def test_all_of_them_are_handed_to_grafana(self):
        folder = millrace_process.ROOT / "dashboards"
        [made] = yaml.safe_load((folder / "kustomization.yaml").read_text())["configMapGenerator"]
        self.assertEqual(set(made["files"]), {path.name for path in folder.glob("*.json")})
        # Kubernetes takes no more than a mebibyte.
        self.assertLess(sum(path.stat().st_size for path in folder.glob("*.json")), 1 << 20)


if __name__ == "__main__":
    unittest.main()
