"""A stream's own page in a real browser: real HTTP, a made-up stream. Usage: live_page_browser_test.py DEMO_SERVER"""

import pathlib
import re
import sys
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from demo_process import DemoServer
from millrace_testing import browser as browsers
from millrace_testing.browser import (controls_of, dark_theme, faults, open_browser, open_details, overflow, part,
                                      save_picture, tab_walk)

PROGRAM = pathlib.Path(sys.argv.pop(1))


class PageTest(unittest.TestCase):
    """Support for tests of a stream's own page."""

    def text(self, name, browser=None):
        return part(browser or self.browser, name).text

    def wait(self, condition, browser=None):
        return browsers.wait(browser or self.browser, condition)

    def wait_for_change(self, name, browser=None):
        """Of the words of a part."""
        before = self.text(name, browser)
        self.wait(lambda: self.text(name, browser) != before, browser)

    def shown(self, browser=None):
        """Waits until the page shows a stream with its pictures."""
        browser = browser or self.browser
        self.wait(lambda: browser.find_elements(By.CSS_SELECTOR, "main .card"), browser)
        self.wait(lambda: "rim" in self.text("scale", browser), browser)


class LivePageTest(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.server = DemoServer(PROGRAM, "compared")
        cls.browser = open_browser(1440, 1000)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.stop()

    def setUp(self):
        self.browser.get(self.server.page)
        self.shown()

    def test_shows_figures_that_change_without_reloading(self):
        open_details(self.browser)
        self.browser.execute_script("window.notReloaded = true")
        for name in ("picture-note", "identity", "stages"):
            self.wait_for_change(name)
        picture = self.browser.find_element(By.CSS_SELECTOR, "[data-is=picture]")
        before = picture.get_attribute("src")
        self.wait(lambda: picture.get_attribute("src") != before)
        self.assertTrue(self.browser.execute_script("return window.notReloaded"))
        self.assertEqual(self.text("name"), "street")
        self.assertEqual(self.browser.find_element(By.ID, "link").text, "live")

    def test_the_chart_ends_in_what_the_figure_beside_it_says(self):
        chart = self.browser.find_element(By.CSS_SELECTOR, "[data-is=chart]")
        self.wait(lambda: "%" in (chart.get_attribute("aria-label") or ""))
        both = ("const part = name => document.querySelector(`main [data-is=${name}]`);"
                "return [part('chart').getAttribute('aria-label'), part('score-note').textContent];")
        for _ in range(5):
            label, note = self.browser.execute_script(both)
            share = label.removeprefix("Motion explained over time, now ")
            self.assertTrue(note.startswith(f"explains {share} of the motion, of the "), f"{label}; {note}")
            self.wait_for_change("identity")
        self.assertEqual((self.text("score-name"), self.text("score")), ("Gain over DIS", "1.18×"))
        painted = self.browser.execute_script(
            "return [...arguments[0].querySelectorAll('canvas')].some(c => c.getContext('2d')"
            ".getImageData(0, 0, c.width, c.height).data.some(v => v !== 0))", chart)
        self.assertTrue(painted)
        save_picture(self.browser, "desktop")

    def test_the_chart_shows_the_values_under_the_pointer_and_of_the_arrow_keys(self):
        chart = part(self.browser, "chart")
        self.wait(lambda: "%" in (chart.get_attribute("aria-label") or ""))
        self.assertEqual(self.text("chart-values"), "dashed: seeing no motion")
        ActionChains(self.browser).move_to_element_with_offset(
            chart, chart.size["width"] // 2 - 2, 0).perform()
        self.wait(lambda: re.match(r"now: \d+ %, in that second –$", self.text("chart-values")))
        chart.send_keys(Keys.ARROW_LEFT)
        before = r"[1-9]\d* s ago: \d+ %, in that second \d+ %$"
        self.wait(lambda: re.match(before, self.text("chart-values")))
        self.wait_for_change("identity")
        self.assertRegex(self.text("chart-values"), before, "a poll hides it")

    def test_the_chart_zooms_by_mouse_and_by_keyboard(self):
        chart = part(self.browser, "chart")

        def oldest() -> int:
            """The seconds of the first label. They grow with the server's age. 0: not drawn yet."""
            return max((int(seconds) for seconds in re.findall(r"(\d+) s ago", chart.text)), default=0)

        self.wait(lambda: oldest() >= 60)
        drag = ActionChains(self.browser).move_to_element_with_offset(chart, 30, 0).click_and_hold()
        for zoom, show_all in (
            (drag.move_by_offset(100, 2).release().perform,
             ActionChains(self.browser).double_click(chart).perform),
            (lambda: chart.send_keys("+"), lambda: chart.send_keys(Keys.ESCAPE)),
        ):
            whole = oldest()
            zoom()
            self.wait(lambda: 0 < oldest() < whole)
            self.wait_for_change("identity")
            self.assertLess(oldest(), whole, "a poll shows all again")
            show_all()
            self.wait(lambda: oldest() >= whole)

    def test_the_chart_leaves_a_gap_where_no_prediction_came(self):
        filled = self.browser.execute_async_script("""
            const done = arguments[0];
            const {Chart} = await import("/chart.js");
            const place = document.createElement("div");
            place.style.width = place.style.height = "300px";
            document.body.append(place);
            const points = [...Array(90).keys()].filter(second => second < 30 || second >= 60);
            new Chart(place, document.createElement("p")).draw(
              points.map(second => ({second, each: 0.3, recent: 0.3})), 0.3);
            const canvas = place.querySelector("canvas");
            const {width, height} = canvas;
            const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
            const painted = x => [...Array(height).keys()].filter(y => pixels[4 * (y * width + x) + 3]).length;
            const left = 50 * width / 300;  // Behind the labels of the axis.
            done([1, 3, 5].map(sixth => painted(Math.round(left + sixth / 6 * (width - left)))));""")
        self.assertLess(10 * filled[1], filled[0])
        self.assertLess(10 * filled[1], filled[2])

    def test_says_what_was_not_learned_from_and_why(self):
        self.wait(lambda: "did not" in self.text("learned"))
        self.assertIn("of the predicted taught the model, 91 did not · weights rolled back 1 time",
                      self.text("learned"))
        self.assertEqual(self.text("skips").split("\n"), [
            "60 the same picture again", "31 flows faster than anything moves",
            "and none for another reason"])

    def number_pictures(self, how: str) -> None:
        """The server says of each picture that it is of the frame `how`, worked out of its address."""
        self.browser.execute_script(f"""
            const ask = window.fetch;
            window.flows = 0;
            window.fetch = async (address, ...more) => {{
              const answer = await ask(address, ...more);
              if (!address.startsWith("/streams/")) return answer;
              if (address.includes("/flow.jpg")) ++window.flows;
              const headers = new Headers(answer.headers);
              headers.set("X-Frame-Number", {how});
              return new Response(answer.body, {{status: answer.status, headers}});
            }};""")

    def test_says_which_frame_is_shown_where_the_one_asked_for_is_gone(self):
        self.number_pictures("1000000")
        self.wait(lambda: self.text("picture-note") == "frame 1,000,000")

    def test_shows_no_two_pictures_of_two_moments(self):
        self.number_pictures("address.includes('/flow.jpg') ? 1 : 2")
        self.wait(lambda: self.browser.execute_script("return window.flows") >= 2)
        picture = part(self.browser, "picture")
        before = picture.get_attribute("src")
        flows = self.browser.execute_script("return window.flows")
        self.wait(lambda: self.browser.execute_script("return window.flows") >= flows + 3)
        self.assertEqual(picture.get_attribute("src"), before)

    def test_logs_no_error(self):
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_fits_a_phone(self):
        phone = open_browser(360, 800, phone=True)
        self.addCleanup(phone.quit)
        phone.get(self.server.page)
        self.shown(phone)
        self.wait_for_change("picture-note", phone)
        self.press("pause", phone)
        self.assertEqual(overflow(phone), 0)
        self.press("resume", phone)
        self.assertEqual(faults(phone), [])
        save_picture(phone, "phone")
        with dark_theme(phone):
            self.assertEqual(faults(phone), [])
            save_picture(phone, "phone-dark")
        self.assertEqual(phone.get_log("browser"), [])

    def press(self, name, browser):
        """Waits until the page says that the button is pressed."""
        self.wait(lambda: part(browser, name).is_displayed(), browser)
        part(browser, name).click()
        self.wait(lambda: part(browser, name).get_attribute("aria-pressed") == "true", browser)

    def picture_of(self, name):
        """The picture's pixels at a quarter of their size, as the browser shows them."""
        return self.browser.execute_script("""
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [88, 66];
            const drawn = canvas.getContext("2d");
            drawn.drawImage(document.querySelector(`[data-is=${arguments[0]}]`), 0, 0, 88, 66);
            return [...drawn.getImageData(0, 0, 88, 66).data];""", name)

    def test_shows_more_pictures_on_request(self):
        asked = "return performance.getEntriesByType('resource').some(each => each.name.includes('/uncertainty.jpg'))"
        self.assertFalse(self.browser.execute_script(asked), "they cost the server time")
        for name in ("reference", "uncertainty"):
            self.assertFalse(part(self.browser, name).is_displayed())
            self.press(f"show-{name}", self.browser)
            self.wait(lambda name=name: part(self.browser, name).get_property("naturalWidth") > 0)
        self.assertEqual((self.text("reference-name"), self.text("show-reference")), ("DIS", "Motion by DIS"))
        self.assertEqual(faults(self.browser), [])
        save_picture(self.browser, "more")
        # The disc moves where the pictures are still. A picture that is loading has no pixels.
        self.wait(lambda: max(self.picture_of("uncertainty")[0::4]) > 200)
        part(self.browser, "show-uncertainty").click()
        self.assertFalse(part(self.browser, "uncertainty").is_displayed())
        self.assertTrue(part(self.browser, "reference").is_displayed())

    def test_draws_the_pipeline_with_its_load(self):
        picture = self.browser.find_element(By.CSS_SELECTOR, "[data-is=pipeline]")
        self.assertFalse(picture.is_displayed(), "the page is for the owner of a camera")
        open_details(self.browser)
        self.assertIn("7.7 frames a second without the pipeline", self.text("start"))
        self.assertIn("stage 2 on cpu:1 is busy 64 %", picture.get_attribute("aria-label"))
        self.assertIn("65 % busy", picture.text)
        part(self.browser, "freeze").click()
        self.addCleanup(lambda: part(self.browser, "resume").click())
        self.wait(lambda: "21 % busy" in picture.text)

    def test_has_no_serious_fault_that_axe_finds(self):
        open_details(self.browser)
        self.assertEqual(faults(self.browser), [])
        with dark_theme(self.browser):
            self.assertEqual(faults(self.browser), [])

    def test_follows_a_dark_theme(self):
        color = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.execute_script(color)
        with dark_theme(self.browser):
            self.assertNotEqual(self.browser.execute_script(color), light)
            save_picture(self.browser, "dark")
        self.assertEqual(self.browser.execute_script(color), light)

    def test_everything_that_acts_is_reached_by_tab_in_its_order_and_seen_to_be(self):
        self.wait(lambda: part(self.browser, "pause").is_displayed())
        self.assertEqual(tab_walk(self.browser), controls_of(self.browser))


class LostServerTest(PageTest):
    """The server goes, and comes back."""

    def setUp(self):
        self.server = DemoServer(PROGRAM)
        self.addCleanup(lambda: self.server.kill())
        self.browser = open_browser(1440, 1000)
        self.addCleanup(self.browser.quit)
        self.browser.get(self.server.page)
        self.shown()

    def link(self):
        return self.browser.find_element(By.ID, "link").text

    def polls_until_gone(self, lose) -> int:
        """How many polls in a row were not answered when the page said that the server is gone."""
        self.browser.execute_script("""
            const ask = window.fetch;
            window.unanswered = 0;
            window.fetch = async (address, ...more) => {
              if (!address.startsWith("/api/streams?")) return ask(address, ...more);
              ++window.unanswered;
              const answer = await ask(address, ...more);
              window.unanswered = 0;
              return answer;
            };
            const link = document.getElementById("link");
            new MutationObserver(() => {
              if (link.textContent === "server gone") window.atGone ??= window.unanswered;
            }).observe(link, {childList: true, characterData: true, subtree: true});""")
        lose()
        self.wait(lambda: self.browser.execute_script("return window.atGone !== undefined"))
        return self.browser.execute_script("return window.atGone")

    def test_the_first_poll_that_is_refused_says_so(self):
        self.assertLessEqual(self.polls_until_gone(self.server.kill), 1)
        self.assertIn("has not answered since", self.browser.find_element(By.ID, "notice").text)
        self.assertEqual(faults(self.browser), [])
        with dark_theme(self.browser):
            self.assertEqual(faults(self.browser), [])
        save_picture(self.browser, "gone")

    def test_the_first_poll_that_is_not_answered_says_so(self):
        self.addCleanup(self.server.thaw)
        self.assertLessEqual(self.polls_until_gone(self.server.freeze), 1)
        self.server.thaw()
        self.wait(lambda: self.link() == "live")

    def test_an_answer_that_breaks_off_is_no_fault_of_the_page(self):
        self.browser.execute_script("""
            const ask = window.fetch;
            window.mend = () => { window.fetch = ask; };
            window.fetch = (address, ...more) => !address.startsWith("/api/streams?")
              ? ask(address, ...more)
              : Promise.resolve(new Response(new ReadableStream({
                  start(body) {
                    body.enqueue(new TextEncoder().encode('{"server":'));
                    body.error(new TypeError("network error"));
                  }})));""")
        self.wait(lambda: self.link() == "server gone")
        self.browser.execute_script("window.mend()")
        self.wait(lambda: self.link() == "live")
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_comes_back_by_itself(self):
        open_details(self.browser)
        self.browser.execute_script("window.notReloaded = true")
        port = self.server.port
        self.server.kill()
        self.wait(lambda: self.link() == "server gone")
        self.server = DemoServer(PROGRAM, port=port)
        self.wait(lambda: self.link() == "live")
        self.assertFalse(self.browser.find_element(By.ID, "notice").is_displayed())
        self.shown()
        self.assertTrue(self.browser.execute_script("return window.notReloaded"))


class LabelsPageTest(unittest.TestCase):
    """A stream that learns from labels: text of the model's output replaces the flow."""

    def setUp(self):
        server = DemoServer(PROGRAM, "labels")
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
        self.assertEqual(self.part("score-name").text, "Labelled frames predicted right")
        self.assertEqual(self.part("score").text, "90 %")
        self.assertFalse(self.part("flow-view").is_displayed())
        self.assertFalse(self.part("chart-panel").is_displayed())
        self.assertTrue(self.part("picture").get_attribute("src"))
        self.assertEqual(faults(self.browser), [])
        with dark_theme(self.browser):
            self.assertEqual(faults(self.browser), [])
        self.assertEqual(self.browser.get_log("browser"), [])


if __name__ == "__main__":
    unittest.main()
