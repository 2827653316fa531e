"""The live page in a real browser: real HTTP, a made-up stream. Usage: live_page_browser_test.py DEMO_SERVER"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser as browsers
from browser import PATIENCE_S, open_browser, overflow, part, save_picture, serious_faults

SERVER = pathlib.Path(sys.argv.pop(1))


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


class LivePageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.browser = open_browser(1440, 1000)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.stop()

    def text(self, name, browser=None):
        return part(browser or self.browser, name).text

    def wait(self, condition, browser=None):
        return browsers.wait(browser or self.browser, condition)

    def shown(self, browser=None):
        """Waits until the page shows a stream with its pictures."""
        browser = browser or self.browser
        self.wait(lambda: browser.find_elements(By.CSS_SELECTOR, "main .card"), browser)
        self.wait(lambda: "rim" in self.text("scale", browser), browser)

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
        save_picture(self.browser, "desktop")

    def test_logs_no_error(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_fits_a_phone(self):
        phone = open_browser(360, 800, phone=True)
        self.addCleanup(phone.quit)
        phone.get(self.server.page)
        self.shown(phone)
        self.assertEqual(overflow(phone), 0)
        self.assertEqual(serious_faults(phone), [])
        self.assertEqual(phone.get_log("browser"), [])
        save_picture(phone, "phone")

    def test_draws_the_pipeline_with_its_load(self):
        picture = self.browser.find_element(By.CSS_SELECTOR, "[data-is=pipeline]")
        self.assertIn("stage 2 on cpu:1 is busy", picture.get_attribute("aria-label"))
        # (24 + 40 + 0.4) ms, 9.9 times a second.
        self.assertIn("64 % busy", picture.text)

    def test_has_no_serious_fault_that_axe_finds(self):
        self.assertEqual(serious_faults(self.browser), [])
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.assertEqual(serious_faults(self.browser), [])

    def test_follows_a_dark_theme(self):
        color = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.execute_script(color)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        self.assertNotEqual(self.browser.execute_script(color), light)
        save_picture(self.browser, "dark")

    def test_says_that_the_server_is_gone_and_comes_back_by_itself(self):
        self.browser.execute_script("window.notReloaded = true")
        port = self.server.port
        self.server.stop()
        self.wait(lambda: self.browser.find_element(By.ID, "link").text == "server gone")
        notice = self.browser.find_element(By.ID, "notice")
        self.assertIn("has not answered since", notice.text)
        save_picture(self.browser, "gone")
        type(self).server = Server(port)
        self.wait(lambda: self.browser.find_element(By.ID, "link").text == "live")
        self.assertFalse(notice.is_displayed())
        self.shown()
        self.assertTrue(self.browser.execute_script("return window.notReloaded"))


class ControlsTest(unittest.TestCase):
    """The buttons of a stream act, for those who may press them."""

    def start(self, *kind):
        server = Server(0, *kind)
        self.addCleanup(server.stop)
        self.browser = open_browser(1440, 1100)
        self.addCleanup(self.browser.quit)
        self.browser.get(server.page)
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "main .card"))

    def part(self, name):
        return part(self.browser, name)

    def wait(self, condition):
        return browsers.wait(self.browser, condition)

    def pressed(self, name):
        return self.part(name).get_attribute("aria-pressed") == "true"

    def test_pauses_and_resumes_by_keyboard(self):
        self.start()
        self.wait(lambda: self.part("pause").is_displayed() and self.pressed("resume"))
        self.part("pause").send_keys(Keys.ENTER)
        self.wait(lambda: self.pressed("pause"))
        self.assertIn("Paused", self.part("outcome").text)
        self.part("resume").send_keys(Keys.SPACE)
        self.wait(lambda: self.pressed("resume"))
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_sets_the_rate_and_says_why_it_did_not(self):
        self.start()
        field = self.part("rate-value")
        self.wait(lambda: field.get_attribute("placeholder") == "0.001")
        field.send_keys("0.25" + Keys.ENTER)
        self.wait(lambda: self.part("outcome").text == "The learning rate is 0.25.")
        self.wait(lambda: field.get_attribute("placeholder") == "0.25")
        field.clear()
        field.send_keys("fast" + Keys.ENTER)
        self.wait(lambda: "from 0 to 1" in self.part("outcome").text)

    def test_a_stream_that_keeps_no_checkpoints_says_so(self):
        self.start()
        self.wait(lambda: self.part("checkpoint").is_displayed())
        self.assertFalse(self.part("checkpoint").is_enabled())
        self.assertIn("keeps no checkpoints", self.part("checkpoint").get_attribute("title"))

    def test_asks_for_a_token_where_one_is_needed(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tokens = pathlib.Path(folder.name) / "tokens"
        tokens.write_text("control changes-0123456789\n", encoding="utf-8")
        tokens.chmod(0o600)
        self.start(f"tokens={tokens}")
        self.wait(lambda: self.part("token-form").is_displayed())
        self.assertFalse(self.part("buttons").is_displayed())
        self.assertEqual(serious_faults(self.browser), [])
        self.part("token-value").send_keys("guessed-0123456789" + Keys.ENTER)
        self.wait(lambda: "none of the server's" in self.part("no-control").text)
        self.part("token-value").send_keys("changes-0123456789" + Keys.ENTER)
        self.wait(lambda: self.part("buttons").is_displayed())
        self.part("freeze").click()
        self.wait(lambda: self.pressed("freeze"))


class OverviewTest(unittest.TestCase):
    """Three streams, of which one is away."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(0, "three")
        cls.browser = open_browser(1440, 1000)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.stop()

    def wait(self, condition, browser=None):
        return browsers.wait(browser or self.browser, condition)

    def tiles(self, browser=None):
        return (browser or self.browser).find_elements(By.CSS_SELECTOR, "main .tile")

    def pictures_shown(self, browser=None):
        return all(picture.get_attribute("src") for tile in self.tiles(browser)[:2]
                   for picture in tile.find_elements(By.TAG_NAME, "img"))

    def setUp(self):
        self.browser.get(self.server.page)
        self.wait(lambda: len(self.tiles()) == 3 and self.pictures_shown())

    def test_says_at_a_glance_which_stream_is_not_well(self):
        self.assertEqual(self.browser.find_element(By.ID, "sum").text, "2 of 3 streams are well")
        street, _, garage = self.tiles()
        self.assertIn("streaming", street.text)
        self.assertIn("backing off", garage.text)
        self.assertIn("Connection refused; next try in 4 s", garage.text)
        picture = street.find_element(By.CSS_SELECTOR, "[data-is=flow]")
        before = picture.get_attribute("src")
        self.wait(lambda: picture.get_attribute("src") != before)
        self.assertEqual(serious_faults(self.browser), [])
        self.assertEqual(self.browser.get_log("browser"), [])
        save_picture(self.browser, "overview")

    def test_goes_to_one_stream_and_back_by_keyboard(self):
        self.tiles()[1].find_element(By.TAG_NAME, "a").send_keys(Keys.ENTER)
        self.wait(lambda: not self.tiles())
        name = "return document.querySelector('[data-is=name]')?.textContent"
        self.wait(lambda: self.browser.execute_script(name) == "yard")
        self.assertEqual(self.browser.title, "yard · Millrace")
        chart = self.browser.find_element(By.CSS_SELECTOR, "[data-is=chart]")
        self.wait(lambda: "of that of no motion" in (chart.get_attribute("aria-label") or ""))
        back = self.browser.switch_to.active_element
        self.assertEqual(back.text, "← All streams")
        back.send_keys(Keys.ENTER)
        self.wait(lambda: len(self.tiles()) == 3)
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_an_address_names_its_stream(self):
        self.browser.get("about:blank")
        self.browser.get(f"{self.server.page}/#/garage")
        self.wait(lambda: self.browser.title == "garage · Millrace")
        self.browser.get(f"{self.server.page}/#/no-such")
        self.wait(lambda: len(self.tiles()) == 3)
        self.browser.get(f"{self.server.page}/#/%")
        self.wait(lambda: len(self.tiles()) == 3)

    def test_fits_a_phone(self):
        phone = open_browser(360, 800, phone=True)
        self.addCleanup(phone.quit)
        phone.get(self.server.page)
        self.wait(lambda: len(self.tiles(phone)) == 3 and self.pictures_shown(phone), phone)
        self.assertEqual(overflow(phone), 0)
        self.assertEqual(serious_faults(phone), [])
        save_picture(phone, "overview-phone")


class LabelsPageTest(unittest.TestCase):
    """A stream that learns from labels: what the model says stands in words in the flow's place."""

    def setUp(self):
        server = Server(0, "labels")
        self.addCleanup(server.stop)
        self.browser = open_browser(1280, 1000)
        self.addCleanup(self.browser.quit)
        self.browser.get(server.page)

    def part(self, name):
        return part(self.browser, name)

    def wait(self, condition):
        return browsers.wait(self.browser, condition)

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
