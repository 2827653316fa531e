"""The live page in a real browser: real HTTP, a made-up stream. Usage: live_page_browser_test.py DEMO_SERVER"""

import pathlib
import sys
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser as browsers
from browser import dark_theme, faults, open_browser, overflow, part, save_picture
from demo_process import DemoServer

PROGRAM = pathlib.Path(sys.argv.pop(1))


def controls_of(browser) -> list:
    """Whatever acts, in the page's order."""
    return [control for control in browser.find_elements(
        By.CSS_SELECTOR, "a[href], button:not(:disabled), input, [tabindex='0']")
            if control.is_displayed()]


def tab_walk(browser) -> list:
    """What Tab leads to, one after the other, each drawn around while it is there."""
    reached = []
    for _ in controls_of(browser):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached.append(browser.switch_to.active_element)
        ring = browser.execute_script("""
            const styles = [null, "::after"].map(part => getComputedStyle(arguments[0], part));
            return styles.some(style => style.outlineStyle === "solid"
                                        && parseFloat(style.outlineWidth) >= 2);""", reached[-1])
        assert ring, f"nothing shows that the focus is at {reached[-1].get_attribute('outerHTML')}"
    return reached


class PageTest(unittest.TestCase):
    """What tests of a stream's own page do."""

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
        cls.server = DemoServer(PROGRAM)
        cls.browser = open_browser(1440, 1000)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.server.stop()

    def setUp(self):
        self.browser.get(self.server.page)
        self.shown()

    def test_shows_figures_that_change_without_reloading(self):
        self.browser.execute_script("window.notReloaded = true")
        for name in ("picture-note", "identity", "stages"):
            self.wait_for_change(name)
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

    def test_draws_the_pipeline_with_its_load(self):
        picture = self.browser.find_element(By.CSS_SELECTOR, "[data-is=pipeline]")
        self.assertIn("stage 2 on cpu:1 is busy 64 %", picture.get_attribute("aria-label"))
        self.assertIn("65 % busy", picture.text)
        part(self.browser, "freeze").click()
        self.addCleanup(lambda: part(self.browser, "resume").click())
        self.wait(lambda: "21 % busy" in picture.text)

    def test_has_no_serious_fault_that_axe_finds(self):
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
        self.browser.execute_script("window.notReloaded = true")
        port = self.server.port
        self.server.kill()
        self.wait(lambda: self.link() == "server gone")
        self.server = DemoServer(PROGRAM, port=port)
        self.wait(lambda: self.link() == "live")
        self.assertFalse(self.browser.find_element(By.ID, "notice").is_displayed())
        self.shown()
        self.assertTrue(self.browser.execute_script("return window.notReloaded"))


class OverviewTest(unittest.TestCase):
    """Three streams, of which one is away."""

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
        self.wait(lambda: "of that of no motion" in (chart.get_attribute("aria-label") or ""))
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
    """How many learn, and what is with the others, is said on top."""

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
            "3 of 10 streams learn · 1 failed · 1 without camera · 1 without client · 1 ended · "
            "1 paused · 1 frozen · 1 only predicting · 1 worse than no motion"))
        self.assertIn("paused", self.tile("hall"))
        self.assertIn("only predicting", self.tile("shop"))
        self.assertIn("worse than no motion", self.tile("new"))
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

    def test_a_learner_that_failed_says_why(self):
        self.open("failed")
        browsers.wait(self.browser, lambda: self.browser.find_elements(By.CSS_SELECTOR, "main .card"))
        self.assertEqual(part(self.browser, "state").text, "learner failed")
        self.assertIn("no memory is left", part(self.browser, "cause").text)
        self.assertEqual(faults(self.browser), [])


class LabelsPageTest(unittest.TestCase):
    """A stream that learns from labels: what the model says stands in words in the flow's place."""

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
        self.assertEqual(self.part("ratio-name").text, "Labelled frames predicted right")
        self.assertEqual(self.part("ratio").text, "90 %")
        self.assertFalse(self.part("flow-view").is_displayed())
        self.assertFalse(self.part("chart-panel").is_displayed())
        self.assertTrue(self.part("picture").get_attribute("src"))
        self.assertEqual(faults(self.browser), [])
        with dark_theme(self.browser):
            self.assertEqual(faults(self.browser), [])
        self.assertEqual(self.browser.get_log("browser"), [])


if __name__ == "__main__":
    unittest.main()
