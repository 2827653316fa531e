"""An operator's first day, with everything real: installs the server on a bare Debian, starts it as systemd does, adds
cameras, opens the page in a browser, scrapes it with Prometheus, loses a camera, is alerted, and sees it recover.

With MILLRACE_SCREENSHOTS=FOLDER the model learns for a while, and the test makes the pictures of docs/.
"""

import contextlib
import json
import os
import pathlib
import signal
import tempfile
import unittest

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from bare_debian import need_bare_debian
from machine import Machine
import millrace
from millrace_testing import millrace_process
from millrace_testing.browser import faults, open_browser, overflow, part, save_picture
from millrace_testing.millrace_process import ROOT, wait_for
from millrace_testing.rtsp_camera import RtspCamera
import prometheus_process

VIDEO = ROOT / ".deps/video/vtest.avi"
# A minute of the alerts' rules, here.
MINUTE_S = 4
# Of "street", before a picture is taken.
FRAMES_TO_LEARN = 900 if os.environ.get("MILLRACE_SCREENSHOTS") else 20


def stream(name: str, camera: RtspCamera, width: int, height: int) -> dict:
    return {"name": name, "source": {"uri": camera.url}, "model": {"input": [width, height]},
            "schedule": {"stages": 2}}


class FirstDayTest(unittest.TestCase):
    def setUp(self):
        need_bare_debian()
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder.chmod(0o711)  # The server's user has no other rights there.
        self.machine = Machine(folder)

    @contextlib.contextmanager
    def started(self):
        """The installed server, without a stream, once it says that it is ready."""
        # What a learner costs is measured: on a busy machine more than this one has.
        configuration = millrace_process.config(
            streams=[], budget={"cores": 100}, checkpoints={"folder": self.machine.learned},
            model={"input": [64, 64], "weights": self.machine.weights})
        systemd = self.enterContext(self.machine.notify_socket())
        with self.machine.start(json.dumps(configuration), systemd) as process:
            try:
                systemd.await_line("READY=1")
                yield millrace_process.stands(process)
                process.send_signal(signal.SIGTERM)
                systemd.await_line("STOPPING=1")
                self.assertEqual(process.wait(millrace_process.PATIENCE_S), 0)
            finally:
                process.kill()

    def see(self, what: str, condition):
        """Waits until the page shows it. Parts may come and go meanwhile."""
        def shown():
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return False

        return wait_for(f"the page to show {what}", shown)

    def show(self, picture: str) -> None:
        """The page for a new visitor, in a window of the page's height."""
        self.browser.set_window_size(1280, self.browser.execute_script("""
            document.activeElement.blur();
            const margin = 18, frame = window.outerHeight - window.innerHeight;
            return Math.ceil(document.body.getBoundingClientRect().height) + margin + frame;"""))
        save_picture(self.browser, picture)

    def summed_up(self) -> str:
        return self.browser.find_element(By.ID, "sum").text

    def all_learn(self) -> bool:
        """They do, well or, as yet, worse than seeing no motion."""
        return self.summed_up().startswith(("Both streams learn", "2 of 2 streams learn"))

    def state_of(self, name: str) -> str:
        for tile in self.browser.find_elements(By.CSS_SELECTOR, "main .tile"):
            if tile.find_element(By.TAG_NAME, "a").text == name:
                return tile.find_element(By.CSS_SELECTOR, "[data-is=state]").text
        return ""

    def firing(self, prometheus) -> set[str]:
        """The streams that MillraceNoFrames reports."""
        return {alert["labels"]["stream"] for alert in prometheus.get("alerts")["alerts"]
                if alert["labels"]["alertname"] == "MillraceNoFrames" and alert["state"] == "firing"}

    def add_cameras(self, client: millrace.Client, street: RtspCamera, gate: RtspCamera) -> None:
        self.see("that there are none", lambda: self.summed_up().startswith("No streams yet"))
        client.create_stream(stream("street", street, 256, 192))
        self.see("the first by itself", lambda: part(self.browser, "name").text == "street")
        client.create_stream(stream("gate", gate, 128, 96))
        self.see("both", lambda: self.all_learn())
        self.assertEqual(faults(self.browser), [])
        wait_for("it to learn", lambda: client.stream("street").message.frames.predicted
                 >= FRAMES_TO_LEARN, patience_s=300)
        self.show("live-overview")

    def go_to(self, name: str) -> None:
        self.browser.get(f"{self.page}/#/{name}")
        self.see("the stream's own page", lambda: self.browser.title == f"{name} · Millrace"
                 and part(self.browser, "name").text == name)
        self.see("the motion", lambda: "rim" in part(self.browser, "scale").text)

    def see_on_a_phone(self) -> None:
        phone = open_browser(360, 800, phone=True)
        self.addCleanup(phone.quit)
        phone.get(f"{self.page}/#/street")
        self.see("the same on a phone", lambda: "rim" in part(phone, "scale").text)
        self.assertEqual(overflow(phone), 0)
        self.assertEqual(faults(phone), [])
        end = phone.execute_script(
            "return Math.ceil(document.querySelector('main .views').getBoundingClientRect().bottom)")
        phone.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": 360, "height": end + 10, "deviceScaleFactor": 2, "mobile": True})
        save_picture(phone, "live-phone")
        self.assertEqual(phone.get_log("browser"), [])

    def use_the_buttons(self, client: millrace.Client) -> None:
        self.go_to("street")
        self.show("live-page")
        self.see_on_a_phone()
        self.go_to("gate")
        part(self.browser, "pause").send_keys(Keys.ENTER)
        wait_for("the learner to pause",
                 lambda: client.learner("gate").status().state is millrace.LearnerState.PAUSED)
        part(self.browser, "resume").send_keys(Keys.ENTER)
        self.see("that it learns",
                 lambda: part(self.browser, "resume").get_attribute("aria-pressed") == "true")
        part(self.browser, "checkpoint").click()
        self.see("the checkpoint", lambda: "is written" in part(self.browser, "outcome").text)
        taken = part(self.browser, "outcome").text.split()[1]
        self.assertIn(taken, [each.name for each in client.checkpoints("gate").list()])
        self.browser.find_element(By.ID, "back").click()
        self.see("both again", lambda: self.state_of("gate") == "streaming")

    def lose_a_camera(self, gate: RtspCamera, prometheus) -> None:
        wait_for("no alert", lambda: self.firing(prometheus) == set())
        gate.kill()
        self.see("that it is away", lambda: self.state_of("gate") in (
            "camera away, tries again", "connecting"))
        self.see("who learns", lambda: self.summed_up().startswith(
            "1 of 2 streams learns · 1 without camera"))
        self.show("live-camera-away")
        wait_for("the alert", lambda: self.firing(prometheus) == {"gate"})
        self.see("that the other streams", lambda: self.state_of("street") == "streaming")

    def recover(self, client: millrace.Client, gate: RtspCamera, prometheus) -> None:
        before = client.stream("gate").message.frames.predicted
        gate.come_back()
        wait_for("predictions again",
                 lambda: client.stream("gate").message.frames.predicted > before)
        wait_for("the alert to end", lambda: self.firing(prometheus) == set())
        self.see("that all is well", lambda: self.all_learn())

    def test_from_installing_to_recovering(self):
        street = self.enterContext(RtspCamera(
            "--file", str(VIDEO), "--width", "768", "--height", "576", "--fps", "10"))
        gate = self.enterContext(RtspCamera("--pattern", "ball", "--fps", "20"))
        self.browser = open_browser(1280, 1500)
        self.addCleanup(self.browser.quit)
        self.machine.install()
        server = self.enterContext(self.started())
        client = self.enterContext(millrace.Client(server.grpc))
        prometheus = self.enterContext(prometheus_process.scrapes(server.metrics, MINUTE_S))
        self.page = server.page
        self.browser.get(self.page)
        self.add_cameras(client, street, gate)
        self.use_the_buttons(client)
        self.lose_a_camera(gate, prometheus)
        self.recover(client, gate, prometheus)
        self.assertEqual(self.browser.get_log("browser"), [])


if __name__ == "__main__":
    unittest.main()
