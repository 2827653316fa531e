"""The programs that read the files of deploy/ and samples/ accept them, and the files agree with each other."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import yaml

from millrace_testing import millrace_process, shipped_config
from prometheus_process import promtool

ROOT = millrace_process.ROOT
DEPLOY = ROOT / "deploy"
# Where the runbook is, until somebody says where.
RUNBOOK_BASE = "https://millrace.example"
WATCHDOG = "MillraceWatchdog"


def read_yaml(path: pathlib.Path):
    return yaml.safe_load(path.read_text())


class ConfigurationTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def test_every_configuration_passes_check_config(self):
        for path in [*DEPLOY.glob("millrace*.yaml"), *sorted((ROOT / "samples").glob("*.yaml"))]:
            with self.subTest(path.name):
                if path.parent == DEPLOY:
                    text = shipped_config.in_checkout(path.read_text(), self.folder)
                    path = pathlib.Path(self.folder, path.name)
                    path.write_text(text)
                run = millrace_process.run("check-config", str(path))
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


class PrometheusFilesTest(unittest.TestCase):
    alerts = DEPLOY / "prometheus/alerts.yml"
    tests = pathlib.Path(__file__).parent / "alerts_test.yml"

    def rules(self) -> list[dict]:
        return [rule for group in read_yaml(self.alerts)["groups"] for rule in group["rules"]]

    def test_promtool_accepts_configuration_and_rules(self):
        run = promtool("check", "config", str(DEPLOY / "prometheus/prometheus.yml"))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("rules found", run.stdout)

    def test_alerts_fire_when_they_should(self):
        run = promtool("test", "rules", str(self.tests))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_every_alert_is_tested_firing_and_silent(self):
        cases = [
            case for test in read_yaml(self.tests)["tests"] for case in test["alert_rule_test"]
        ]
        fire = {case["alertname"] for case in cases if "exp_alerts" in case}
        silent = {case["alertname"] for case in cases if "exp_alerts" not in case}
        names = {rule["alert"] for rule in self.rules()}
        self.assertEqual(fire, names)
        self.assertEqual(silent, names - {WATCHDOG}, "which always fires")

    def test_every_alert_says_how_bad_it_is_and_what_to_do(self):
        for rule in self.rules():
            severities = ("none",) if rule["alert"] == WATCHDOG else ("critical", "warning")
            self.assertIn(rule["labels"]["severity"], severities)
            self.assertEqual(set(rule["annotations"]), {"summary", "description", "runbook_url"})

    def test_every_alert_has_its_part_of_the_runbook(self):
        rules = self.rules()
        runbook = (ROOT / "docs/runbook.md").read_text()
        parts = re.findall(r"^## (Millrace\w+)$", runbook, re.MULTILINE)
        self.assertEqual(sorted(parts), sorted(rule["alert"] for rule in rules))
        for rule in rules:
            self.assertEqual(
                rule["annotations"]["runbook_url"],
                f"{RUNBOOK_BASE}/docs/runbook.md#{rule['alert'].lower()}",
            )

    def test_the_page_says_how_to_tell_where_the_runbook_is(self):
        command = f"sed -i 's|{RUNBOOK_BASE}|"
        for path in (self.alerts, DEPLOY / "README.md"):
            self.assertIn(command, path.read_text())


class ComposeTest(unittest.TestCase):
    def setUp(self):
        self.services = read_yaml(DEPLOY / "compose.yaml")["services"]

    def mounts(self):
        """(service, where from, where to) of every mounted file or folder of the checkout."""
        for name, service in self.services.items():
            for volume in service.get("volumes", []):
                source, target, *_ = volume.split(":")
                if source.startswith("."):
                    yield name, DEPLOY / source, target

    def in_container(self, service: str, path: str) -> pathlib.Path:
        """The file of the checkout that the service finds at `path`."""
        for name, source, target in self.mounts():
            if name == service and pathlib.PurePath(path).is_relative_to(target):
                return source / pathlib.PurePath(path).relative_to(target)
        raise AssertionError(f"{service} has nothing at {path}")

    def test_mounts_what_exists_and_read_only(self):
        for name, source, target in self.mounts():
            self.assertTrue(source.exists(), f"{name}: {source}")
        for name, service in self.services.items():
            for volume in service.get("volumes", []):
                self.assertTrue(volume.endswith(":ro") or not volume.startswith("."), volume)

    def test_publishes_on_the_loopback_only(self):
        for name, service in self.services.items():
            for port in service.get("ports", []):
                self.assertRegex(port, r"^127\.0\.0\.1:\d+:\d+$", name)

    def test_compose_knows_all_of_it(self):
        for name in ("compose.yaml", "compose.gpu.yaml"):
            run = subprocess.run(
                [
                    ROOT / ".deps/venv/bin/check-jsonschema",
                    "--builtin-schema",
                    "vendor.compose-spec",
                    DEPLOY / name,
                ],
                text=True,
                capture_output=True,
                check=False,
            )
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_with_a_gpu_everything_is_built_once_and_for_it(self):
        changed = read_yaml(DEPLOY / "compose.gpu.yaml")["services"]
        built = {name for name, service in self.services.items() if "build" in service}
        self.assertEqual(set(changed), built)
        for name in built:
            self.assertEqual(changed[name]["build"]["args"], {"MILLRACE_WITH_CUDA": "1"})
        self.assertIn("\nARG MILLRACE_WITH_CUDA=0\n", (DEPLOY / "Dockerfile").read_text())
        self.assertNotEqual(changed["millrace"]["image"], self.services["millrace"]["image"])
        [device] = changed["millrace"]["deploy"]["resources"]["reservations"]["devices"]
        self.assertEqual((device["driver"], device["capabilities"]), ("nvidia", ["gpu"]))

    def test_what_is_built_is_a_stage_of_the_dockerfile(self):
        dockerfile = (DEPLOY / "Dockerfile").read_text()
        for service in self.services.values():
            if target := service.get("build", {}).get("target"):
                self.assertRegex(dockerfile, rf"(?m)^FROM \S+:\S+ AS {target}$")

    def test_millrace_watches_the_camera_and_keeps_what_it_learns(self):
        config = read_yaml(self.in_container("millrace", "/etc/millrace/millrace.yaml"))
        [stream] = config["streams"]
        self.assertTrue(stream["source"]["uri"].startswith("rtsp://camera:"))
        self.assertIn("camera", self.services["millrace"]["depends_on"])
        kept = f"learned:{config['checkpoints']['folder']}"
        self.assertIn(kept, self.services["millrace"]["volumes"])
        made = f"install -d -o 1000 -g 1000 {config['checkpoints']['folder']}\n"
        self.assertIn(made, (DEPLOY / "Dockerfile").read_text())

    def test_nothing_of_ours_may_do_more_than_it_must(self):
        for name in ("camera", "millrace"):
            service = self.services[name]
            self.assertTrue(service["read_only"], name)
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertIn("no-new-privileges:true", service["security_opt"], name)

    def test_publishes_the_ports_that_millrace_listens_on(self):
        listen = read_yaml(DEPLOY / "millrace-camera.yaml")["listen"]
        configured = {str(port) for key, port in listen.items() if key.endswith("_port")}
        published = {port.rsplit(":", 1)[1] for port in self.services["millrace"]["ports"]}
        self.assertEqual(published, configured)
        self.assertEqual(listen["address"], "0.0.0.0")
        # Or the page and the metrics would stay inside the container once there is TLS.
        self.assertIs(listen["allow_plain_text"], True)

    def test_every_service_restarts_and_has_time_to_end(self):
        for name, service in self.services.items():
            self.assertEqual(service["restart"], "unless-stopped", name)
            self.assertIn("stop_grace_period", service, name)

    def test_images_are_pinned(self):
        for name, service in self.services.items():
            if "build" not in service:
                self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+(-\w+)?$", name)
        for base in re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE):
            self.assertRegex(base, r":(12-slim|\d+\.\d+\.\d+-\w+)$")

    def test_volumes_are_declared(self):
        declared = set(read_yaml(DEPLOY / "compose.yaml")["volumes"])
        used = {
            volume.split(":")[0]
            for service in self.services.values()
            for volume in service.get("volumes", [])
            if not volume.startswith(".")
        }
        self.assertEqual(used, declared)

    def test_prometheus_scrapes_the_port_of_the_metrics(self):
        [job] = read_yaml(self.in_container("prometheus", "/etc/prometheus/prometheus.yml"))[
            "scrape_configs"
        ]
        port = read_yaml(DEPLOY / "millrace-camera.yaml")["listen"]["metrics_port"]
        self.assertEqual(job["static_configs"], [{"targets": [f"millrace:{port}"]}])
        # The dashboards choose the process's metrics by this name.
        self.assertEqual(job["job_name"], "millrace")

    def test_grafana_finds_its_data_source_and_its_dashboard(self):
        provisioning = self.in_container("grafana", "/etc/grafana/provisioning")
        [source] = read_yaml(provisioning / "datasources/prometheus.yaml")["datasources"]
        self.assertEqual((source["type"], source["url"]), ("prometheus", "http://prometheus:9090"))
        interval = read_yaml(DEPLOY / "prometheus/prometheus.yml")["global"]["scrape_interval"]
        self.assertEqual(source["jsonData"]["timeInterval"], interval)
        [provider] = read_yaml(provisioning / "dashboards/millrace.yaml")["providers"]
        folder = self.in_container("grafana", provider["options"]["path"])
        self.assertTrue((folder / "overview.json").exists())
        home = self.services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
        self.assertEqual(self.in_container("grafana", home), folder / "overview.json")

    def test_visitors_of_grafana_can_only_look(self):
        environment = self.services["grafana"]["environment"]
        self.assertEqual(environment["GF_AUTH_ANONYMOUS_ORG_ROLE"], "Viewer")
        self.assertEqual(environment["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"], "true")


class DockerfileTest(unittest.TestCase):
    text = (DEPLOY / "Dockerfile").read_text()

    def test_hadolint_has_nothing_to_say(self):
        run = subprocess.run(
            [ROOT / ".deps/venv/bin/hadolint", "deploy/Dockerfile"],
            cwd=ROOT,
            text=True,
            capture_output=True,
            check=False,
        )
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def copied(self) -> list[str]:
        """What it copies from the checkout."""
        lines = re.findall(r"^COPY (?!--from)(.+)$", self.text, re.MULTILINE)
        return [source.rstrip("/") for line in lines for source in line.split()[:-1]]

    def test_copies_what_exists_and_what_the_context_holds(self):
        ignore = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
        held = {line.removeprefix("!") for line in ignore if line.startswith("!")}
        for source in self.copied():
            self.assertTrue((ROOT / source).exists(), source)
        self.assertEqual(set(self.copied()), held)

    def test_copies_every_folder_that_is_built(self):
        added = re.findall(r"add_subdirectory\((\w+)\)", (ROOT / "CMakeLists.txt").read_text())
        self.assertLessEqual(set(added) - {"tests"}, set(self.copied()))

    def test_does_not_run_as_root_and_asks_for_its_health(self):
        self.assertRegex(self.text, r"(?m)^USER 1000:1000$")
        port = read_yaml(DEPLOY / "millrace.yaml")["listen"]["metrics_port"]
        self.assertIn(f"http://127.0.0.1:{port}/healthz", self.text)

    def test_serves_the_mounted_configuration(self):
        [mount] = [
            volume
            for volume in read_yaml(DEPLOY / "compose.yaml")["services"]["millrace"]["volumes"]
            if volume.startswith(".")
        ]
        path = mount.split(":")[1]
        self.assertIn(f'CMD ["serve", "--config", "{path}"]', self.text)

    def test_has_the_files_that_its_configuration_names(self):
        config = read_yaml(DEPLOY / "millrace.yaml")
        for path in (config["model"]["weights"], config["streams"][0]["source"]["uri"]):
            folder = str(pathlib.PurePath(path).relative_to("/opt/millrace").parent)
            self.assertRegex(self.text, rf"(?m)^COPY .* {re.escape(folder)}$")


if __name__ == "__main__":
    unittest.main()
