"""The live page of several streams in a real browser. Usage: overview_browser_test.py DEMO_SERVER"""

import pathlib
import sys
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from demo_process import DemoServer
from millrace_testing import browser as browsers
from millrace_testing.browser import (controls_of, dark_theme, faults, open_browser, overflow, part, save_picture,
                                      tab_walk)

PROGRAM = pathlib.Path(sys.argv.pop(1))


class OverviewTest(unittest.TestCase):
    """Three streams; one of them is away."""

    @classmethod
    def setUpClass(cls):
        cls.server = DemoServer(PROGRAM, "three")
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
        self.assertEqual(self.browser.find_element(By.ID, "sum").text,
                         "2 of 3 streams learn · 1 without camera")
        street, _, garage = self.tiles()
        self.assertIn("streaming", street.text)
        self.assertIn("camera away, tries again", garage.text)
        self.assertIn("Connection refused; next try in 4 s", garage.text)
        picture = street.find_element(By.CSS_SELECTOR, "[data-is=flow]")
        before = picture.get_attribute("src")
        self.wait(lambda: picture.get_attribute("src") != before)
        self.assertEqual(faults(self.browser), [])
        self.assertEqual(self.browser.get_log("browser"), [])
        save_picture(self.browser, "overview")

    def test_a_stream_that_drops_frames_is_amber_and_says_what_helps(self):
        self.addCleanup(self.server.tell, "yard streaming")
        self.server.tell("yard overloaded")
        total = self.browser.find_element(By.ID, "sum")
        self.wait(lambda: total.text
                  == "2 of 3 streams learn · 1 without camera · 1 overloaded")
        yard = self.tiles()[1]
        self.assertIn("drops 20.9 of 25.0 frames a second", yard.text)
        self.assertIn("with one of: source.max_fps: 3.2; model.input: [160, 128]; "
                      "schedule: {kind: auto, stages: 4}", yard.text)
        self.assertIn("overloaded", yard.get_attribute("class"))
        colour = "return getComputedStyle(arguments[0]).borderColor"
        street = self.browser.execute_script(colour, self.tiles()[0])
        self.assertNotEqual(self.browser.execute_script(colour, yard), street)
        self.assertEqual(faults(self.browser), [])
        self.server.tell("yard streaming")
        self.wait(lambda: total.text == "2 of 3 streams learn · 1 without camera")
        self.wait(lambda: self.browser.execute_script(colour, self.tiles()[1]) == street)

    def test_what_the_plan_said_gives_way_to_what_is_measured(self):
        self.addCleanup(self.server.tell, "yard streaming")
        self.tiles()[1].find_element(By.TAG_NAME, "a").send_keys(Keys.ENTER)
        note = "return document.querySelector('[data-is=rate-note]')?.textContent"
        self.wait(lambda: self.browser.execute_script(note) == "can do 15.1")
        self.server.tell("yard overloaded")
        self.wait(lambda: self.browser.execute_script(note)
                  == "measured; expected 15.1, which does not hold")
        delay = self.browser.find_element(By.CSS_SELECTOR, "[data-is=delay-note]")
        self.assertIn("the expected 130 ms do not hold", delay.text)
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_pictures_of_every_shape_are_as_large_as_their_frames(self):
        sizes = self.browser.execute_script("""
            return [...document.querySelectorAll("main .tile .frame > img[src]")].map(image =>
              [image, image.parentElement].map(box => {
                const {x, y, width, height} = box.getBoundingClientRect();
                return [x, y, width, height].map(Math.round);
              }));""")
        self.assertEqual(len(sizes), 4)
        for image, frame in sizes:
            self.assertEqual(image, frame)

    def test_the_pictures_of_a_camera_that_is_away_are_grey(self):
        picture = self.tiles()[1].find_element(By.CSS_SELECTOR, "[data-is=picture]")
        filtered = "return getComputedStyle(arguments[0]).filter"
        self.assertEqual(self.browser.execute_script(filtered, picture), "none")
        self.addCleanup(self.server.tell, "yard streaming")
        self.server.tell("yard away")
        self.wait(lambda: self.browser.execute_script(filtered, picture) == "grayscale(1)")
        self.server.tell("yard streaming")
        self.wait(lambda: self.browser.execute_script(filtered, picture) == "none")

    def test_goes_to_one_stream_and_back_by_keyboard(self):
        self.tiles()[1].find_element(By.TAG_NAME, "a").send_keys(Keys.ENTER)
        self.wait(lambda: not self.tiles())
        name = "return document.querySelector('[data-is=name]')?.textContent"
        self.wait(lambda: self.browser.execute_script(name) == "yard")
        self.assertEqual(self.browser.title, "yard · Millrace")
        chart = self.browser.find_element(By.CSS_SELECTOR, "[data-is=chart]")
        self.wait(lambda: "explained over time, now" in (chart.get_attribute("aria-label") or ""))
        back = self.browser.switch_to.active_element
        self.assertEqual(back.text, "← All streams")
        back.send_keys(Keys.ENTER)
        self.wait(lambda: len(self.tiles()) == 3)
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_every_tile_is_reached_by_tab_in_its_order_and_seen_to_be(self):
        self.assertEqual(len(controls_of(self.browser)), 3)
        self.assertEqual(tab_walk(self.browser), controls_of(self.browser))

    def test_says_to_who_listens_that_a_camera_goes_and_comes_and_no_figures(self):
        standing = self.browser.find_element(By.ID, "standing")
        self.assertEqual(standing.get_attribute("role"), "status")
        said = "return arguments[0].textContent"
        self.assertEqual(self.browser.execute_script(said, standing), "garage: the camera is away")
        self.browser.execute_script("""
            window.said = [];
            new MutationObserver(() => window.said.push(arguments[0].textContent))
              .observe(arguments[0], {childList: true, characterData: true, subtree: true});""",
                                    standing)
        picture = self.tiles()[0].find_element(By.CSS_SELECTOR, "[data-is=picture]")
        for _ in range(2):
            before = picture.get_attribute("src")
            self.wait(lambda before=before: picture.get_attribute("src") != before)
        self.assertEqual(self.browser.execute_script("return window.said"), [])
        self.server.tell("yard away")
        self.addCleanup(self.server.tell, "yard streaming")
        self.wait(lambda: self.browser.execute_script("return window.said") == [
            "yard: the camera is away; garage: the camera is away"])
        self.server.tell("yard streaming")
        self.wait(lambda: self.browser.execute_script("return window.said.at(-1)")
                  == "garage: the camera is away")

    def test_frees_the_pictures_of_what_is_shown_no_more(self):
        self.browser.execute_script("""
            window.pictures = new Set();
            const make = URL.createObjectURL, free = URL.revokeObjectURL;
            URL.createObjectURL = bytes => {
              const url = make.call(URL, bytes);
              window.pictures.add(url);
              return url;
            };
            URL.revokeObjectURL = url => { window.pictures.delete(url); free.call(URL, url); };
            for (const image of document.images) {
              if (image.src.startsWith("blob:")) window.pictures.add(image.src);
            }""")
        for _ in range(3):
            self.browser.execute_script("location.hash = '#/yard'")
            self.wait(lambda: not self.tiles())
            self.wait(lambda: self.browser.execute_script(
                "return document.querySelector('main [data-is=flow]')?.src.startsWith('blob:')"))
            self.browser.execute_script("location.hash = '#/'")
            self.wait(lambda: len(self.tiles()) == 3 and self.pictures_shown())
        # Two tiles with a picture and its flow each.
        self.wait(lambda: self.browser.execute_script("return window.pictures.size") == 4)

    def test_an_address_names_its_stream(self):
        self.browser.get("about:blank")
        self.browser.get(f"{self.server.page}/#/garage")
        self.wait(lambda: self.browser.title == "garage · Millrace")
        self.browser.get(f"{self.server.page}/#/")
        self.wait(lambda: len(self.tiles()) == 3)

    def test_fits_a_phone(self):
        phone = open_browser(360, 800, phone=True)
        self.addCleanup(phone.quit)
        phone.get(self.server.page)
        self.wait(lambda: len(self.tiles(phone)) == 3 and self.pictures_shown(phone), phone)
        self.assertEqual(overflow(phone), 0)
        self.assertEqual(faults(phone), [])
        save_picture(phone, "overview-phone")
        with dark_theme(phone):
            self.assertEqual(faults(phone), [])
            save_picture(phone, "overview-phone-dark")
        picture = self.tiles(phone)[0].find_element(By.CSS_SELECTOR, "[data-is=flow]")
        before = picture.get_attribute("src")
        self.wait(lambda: picture.get_attribute("src") != before, phone)
        self.tiles(phone)[1].find_element(By.TAG_NAME, "a").click()
        self.wait(lambda: phone.title == "yard · Millrace", phone)
        self.assertEqual(phone.get_log("browser"), [])


class StandingTest(unittest.TestCase):
    """The top of the page has the number of learning streams, and the state of the others."""

    def open(self, *kind):
        server = DemoServer(PROGRAM, *kind)
        self.addCleanup(server.stop)
        self.browser = open_browser(1440, 1000)
        self.addCleanup(self.browser.quit)
        self.browser.get(server.page)
        return server

    def tearDown(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def sum(self):
        return self.browser.find_element(By.ID, "sum").text

    def tile(self, name):
        for tile in self.browser.find_elements(By.CSS_SELECTOR, "main .tile"):
            if tile.find_element(By.TAG_NAME, "a").text == name:
                return tile.text
        return ""

    def test_names_every_way_in_which_streams_do_not_learn(self):
        self.open("all-ways")
        browsers.wait(self.browser, lambda: self.sum() == (
            "4 of 11 streams learn · 1 failed · 1 without camera · 1 without client · 1 ended · "
            "1 paused · 1 frozen · 1 only predicting · 1 sees motion where nothing moves · "
            "1 worse than seeing no motion"))
        self.assertIn("paused", self.tile("hall"))
        self.assertIn("only predicting", self.tile("shop"))
        self.assertIn("worse than seeing no motion", self.tile("new"))
        self.assertIn("sees motion where nothing moves", self.tile("lane"))
        self.assertNotIn("worse", self.tile("street"))
        over = [tile.find_element(By.TAG_NAME, "a").text
                for tile in self.browser.find_elements(By.CSS_SELECTOR, "main .tile.over")]
        self.assertIn("desk", over)
        self.assertNotIn("shop", over)
        self.assertEqual(faults(self.browser), [])
        with dark_theme(self.browser):
            self.assertEqual(faults(self.browser), [])

    def test_says_that_all_are_well_only_where_they_learn(self):
        server = self.open("three")
        server.tell("garage streaming")
        browsers.wait(self.browser, lambda: self.sum() == "All 3 streams learn")

    def test_a_model_that_sees_motion_where_nothing_moves_is_not_green(self):
        server = self.open()
        browsers.wait(self.browser, lambda: self.browser.find_elements(By.CSS_SELECTOR, "main .card"))
        tones = ("return ['state', 'score'].map(name =>"
                 " document.querySelector(`main [data-is=${name}]`).className)")
        browsers.wait(self.browser, lambda: self.browser.execute_script(tones) == ["pill good", "good"])
        server.tell("street deceived")
        browsers.wait(self.browser, lambda: self.browser.execute_script(tones) == ["pill ", "wait"])
        self.assertEqual(part(self.browser, "troubles").text, "sees motion where nothing moves")
        self.assertEqual(faults(self.browser), [])
        with dark_theme(self.browser):
            self.assertEqual(faults(self.browser), [])
        save_picture(self.browser, "deceived")

    def test_a_learner_that_failed_says_why(self):
        self.open("failed")
        browsers.wait(self.browser, lambda: self.browser.find_elements(By.CSS_SELECTOR, "main .card"))
        self.assertEqual(part(self.browser, "state").text, "learner failed")
        self.assertIn("no memory is left", part(self.browser, "cause").text)
        self.assertEqual(faults(self.browser), [])


if __name__ == "__main__":
    unittest.main()
