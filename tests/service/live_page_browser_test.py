"""The live page in a real browser: real HTTP, a made-up stream. Usage: live_page_browser_test.py DEMO_SERVER"""

import os
import pathlib
import subprocess
import sys
import unittest

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SERVER = pathlib.Path(sys.argv.pop(1))
PATIENCE_S = 30


class Server:
    """The demo server, on a free port or a given one."""

    def __init__(self, port=0, *kind):
        self._process = subprocess.Popen(
            [SERVER, str(port), *kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.page, self.metrics = self._process.stdout.readline().split()
        self.port = int(self.page.rsplit(":", 1)[1])

    def stop(self):
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._process.stdout.close()


def open_browser(width, height, phone=False):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--window-size={width},{height}"):
        options.add_argument(argument)
    if phone:
        options.add_experimental_option(
            "mobileEmulation",
            {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 2.0}})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path="/usr/bin/chromedriver")
    return webdriver.Chrome(options=options, service=service)


class LivePageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.browser = open_browser(1280, 1000)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.stop()

    def text(self, name, browser=None):
        return (browser or self.browser).find_element(By.CSS_SELECTOR, f"[data-is={name}]").text

    def wait(self, condition, browser=None):
        return WebDriverWait(browser or self.browser, PATIENCE_S).until(lambda _: condition())

    def shown(self, browser=None):
        """Waits until the page shows a stream with its pictures."""
        browser = browser or self.browser
        self.wait(lambda: browser.find_elements(By.CSS_SELECTOR, "main .card"), browser)
        self.wait(lambda: "rim" in self.text("scale", browser), browser)

    def save_picture(self, browser, name):
        folder = os.environ.get("MILLRACE_SCREENSHOTS")
        if folder:
            browser.save_screenshot(str(pathlib.Path(folder) / f"{name}.png"))

    def setUp(self):
        self.browser.get(self.server.page)
        self.shown()

    def test_shows_figures_that_change_without_reloading(self):
        self.browser.execute_script("window.notReloaded = true")
        for name in ("picture-note", "identity", "stages"):
            before = self.text(name)
            self.wait(lambda name=name, before=before: self.text(name) != before)
        picture = self.browser.find_element(By.CSS_SELECTOR, "[data-is=picture]")
        before = picture.get_attribute("src")
        self.wait(lambda: picture.get_attribute("src") != before)
        self.assertTrue(self.browser.execute_script("return window.notReloaded"))
        self.assertEqual(self.text("name"), "street")
        self.assertEqual(self.browser.find_element(By.ID, "link").text, "live")

    def test_draws_the_loss(self):
        chart = self.browser.find_element(By.CSS_SELECTOR, "[data-is=chart]")
        self.wait(lambda: "of that of no motion" in (chart.get_attribute("aria-label") or ""))
        painted = self.browser.execute_script(
            "const c = arguments[0]; const d = c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data; return d.some(v => v !== 0)", chart)
        self.assertTrue(painted)
        self.save_picture(self.browser, "desktop")

    def test_logs_no_error(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_fits_a_phone(self):
        phone = open_browser(390, 844, phone=True)
        self.addCleanup(phone.quit)
        phone.get(self.server.page)
        self.shown(phone)
        overflow = phone.execute_script(
            "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        self.assertEqual(overflow, 0)
        self.assertEqual(phone.get_log("browser"), [])
        self.save_picture(phone, "phone")

    def test_follows_a_dark_theme(self):
        color = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.execute_script(color)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.assertNotEqual(self.browser.execute_script(color), light)
        self.save_picture(self.browser, "dark")

    def test_says_that_the_server_is_gone_and_comes_back_by_itself(self):
        self.browser.execute_script("window.notReloaded = true")
        port = self.server.port
        self.server.stop()
        self.wait(lambda: self.browser.find_element(By.ID, "link").text == "server gone")
        notice = self.browser.find_element(By.ID, "notice")
        self.assertIn("has not answered since", notice.text)
        self.save_picture(self.browser, "gone")
        type(self).server = Server(port)
        self.wait(lambda: self.browser.find_element(By.ID, "link").text == "live")
        self.assertFalse(notice.is_displayed())
        self.shown()
        self.assertTrue(self.browser.execute_script("return window.notReloaded"))


class LabelsPageTest(unittest.TestCase):
    """A stream that learns from labels: what the model says stands in words in the flow's place."""

    def setUp(self):
        server = Server(0, "labels")
        self.addCleanup(server.stop)
        self.browser = open_browser(1280, 1000)
        self.addCleanup(self.browser.quit)
        self.browser.get(server.page)

    def part(self, name):
        return self.browser.find_element(By.CSS_SELECTOR, f"[data-is={name}]")

    def wait(self, condition):
        return WebDriverWait(self.browser, PATIENCE_S).until(lambda _: condition())

    def test_shows_the_class_in_words(self):
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "main .card"))
        self.wait(lambda: self.part("answer").text == "shut")
        self.wait(lambda: self.part("outputs").text.startswith("ajar: 80 %"))
        self.assertIn("labelled of the last 64 frames", self.part("answer-note").text)
        self.assertEqual(self.part("ratio-name").text, "Labelled frames predicted right")
        self.assertEqual(self.part("ratio").text, "90 %")
        self.assertFalse(self.part("flow-view").is_displayed())
        self.assertFalse(self.part("chart-panel").is_displayed())
        self.assertTrue(self.part("picture").get_attribute("src"))
        self.assertEqual(self.browser.get_log("browser"), [])


if __name__ == "__main__":
    unittest.main()
