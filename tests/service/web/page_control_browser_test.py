"""The live page's buttons in a real browser, and the users that may press them.

Usage: page_control_browser_test.py DEMO_SERVER
"""

import pathlib
import sys
import tempfile
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from demo_process import DemoServer
from millrace_testing import browser as browsers
from millrace_testing.browser import faults, open_browser, part
from millrace_testing.tls_proxy import TlsProxy

PROGRAM = pathlib.Path(sys.argv.pop(1))


class ControlTest(unittest.TestCase):
    def start(self, *kind: str) -> DemoServer:
        server = DemoServer(PROGRAM, *kind)
        self.addCleanup(server.stop)
        return server

    def open(self, address: str, *arguments: str) -> None:
        self.browser = open_browser(1440, 1100, arguments=arguments)
        self.addCleanup(self.browser.quit)
        self.browser.get(address)

    def open_page(self, *kind: str) -> None:
        self.open(self.start(*kind).page)
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "main .card"))

    def part(self, name):
        return part(self.browser, name)

    def wait(self, condition):
        return browsers.wait(self.browser, condition)

    def pressed(self, name):
        return self.part(name).get_attribute("aria-pressed") == "true"

    def link(self):
        return self.browser.find_element(By.ID, "link").text


class ButtonsTest(ControlTest):
    """The buttons of a stream work for permitted users."""

    def test_pauses_and_resumes_by_keyboard(self):
        self.open_page()
        self.wait(lambda: self.part("pause").is_displayed() and self.pressed("resume"))
        self.part("pause").send_keys(Keys.ENTER)
        self.wait(lambda: self.pressed("pause"))
        self.assertIn("Paused", self.part("outcome").text)
        self.part("resume").send_keys(Keys.SPACE)
        self.wait(lambda: self.pressed("resume"))
        self.assertEqual(self.browser.get_log("browser"), [])

    def test_sets_the_rate_and_says_why_it_did_not(self):
        self.open_page()
        field = self.part("rate-value")
        self.wait(lambda: field.get_attribute("placeholder") == "0.001")
        field.send_keys("0.25" + Keys.ENTER)
        self.wait(lambda: self.part("outcome").text == "The learning rate is 0.25.")
        self.wait(lambda: field.get_attribute("placeholder") == "0.25")
        field.clear()
        field.send_keys("fast" + Keys.ENTER)
        self.wait(lambda: "from 0 to 1" in self.part("outcome").text)

    def test_a_stream_that_keeps_no_checkpoints_says_so(self):
        self.open_page()
        self.wait(lambda: self.part("checkpoint").is_displayed())
        self.assertFalse(self.part("checkpoint").is_enabled())
        self.assertIn("keeps no checkpoints", self.part("checkpoint").get_attribute("title"))


class TokenTest(ControlTest):
    """A user with a token may press them. A user with a wrong token gets a message with the remedy."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        tokens = self.folder / "tokens"
        tokens.write_text("control changes-0123456789\nview looks-0123456789\n", encoding="utf-8")
        tokens.chmod(0o600)
        self.kind = f"tokens={tokens}"

    def enter(self, token):
        field = self.part("token-value")
        field.clear()
        field.send_keys(token + Keys.ENTER)

    def test_asks_for_a_token_where_one_is_needed(self):
        self.open_page(self.kind)
        self.wait(lambda: self.part("token-form").is_displayed())
        self.assertFalse(self.part("buttons").is_displayed())
        self.assertEqual(faults(self.browser), [])
        self.enter("guessed-0123456789")
        self.wait(lambda: "none of the server's" in self.part("no-control").text)
        self.enter("changes-0123456789")
        self.wait(lambda: self.part("buttons").is_displayed())
        self.part("freeze").click()
        self.wait(lambda: self.pressed("freeze"))

    def test_what_is_no_token_is_not_sent_and_said_to_be_none(self):
        self.open_page(self.kind)
        self.wait(lambda: self.part("token-form").is_displayed())
        for wrong, why in (("pässword-0123456789", "something else in it"),
                           ("with space 0123456789", "something else in it"),
                           ("fifteen-letters", "16 characters or more"),
                           ("a" * 4097, "4096 characters at most")):
            self.enter(wrong)
            self.wait(lambda why=why: why in self.part("outcome").text)
        self.assertEqual(self.part("token-value").get_attribute("aria-invalid"), "true")
        self.enter("sixteen-letters_")
        self.wait(lambda: "none of the server's" in self.part("no-control").text)
        self.assertEqual(self.link(), "live")

    def test_a_token_of_before_that_cannot_be_sent_is_forgotten(self):
        self.open_page(self.kind)
        self.browser.execute_script("sessionStorage.token = 'pässword-0123456789✓'")
        self.browser.refresh()
        self.wait(lambda: self.link() == "live")
        self.wait(lambda: "needs a token" in self.part("no-control").text)

    def test_whoever_may_only_look_can_enter_another_token(self):
        self.open_page(self.kind)
        self.wait(lambda: self.part("token-form").is_displayed())
        self.enter("looks-0123456789")
        self.wait(lambda: "may only view" in self.part("no-control").text)
        self.assertTrue(self.part("token-form").is_displayed())
        self.enter("changes-0123456789")
        self.wait(lambda: self.part("buttons").is_displayed())

    def test_a_proxy_with_tls_can_press_them_with_a_token(self):
        proxy = self.enterContext(TlsProxy(self.start(self.kind).port, self.folder))
        self.open(f"https://door.example:{proxy.port}", "--ignore-certificate-errors",
                  "--host-resolver-rules=MAP door.example 127.0.0.1")
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "main .card"))
        self.wait(lambda: self.part("token-form").is_displayed())
        self.enter("changes-0123456789")
        self.wait(lambda: self.part("buttons").is_displayed())
        self.part("pause").click()
        self.wait(lambda: self.pressed("pause"))


class StrangersTest(ControlTest):
    """Requests of other origins to a page that is only for this machine."""

    def test_nobody_presses_them_through_a_proxy_without_a_token(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        proxy = self.enterContext(TlsProxy(self.start().port, folder))
        self.open(f"https://127.0.0.1:{proxy.port}", "--ignore-certificate-errors")
        self.wait(lambda: self.browser.find_elements(By.CSS_SELECTOR, "main .card"))
        self.wait(lambda: "View only" in self.part("no-control").text)
        self.assertFalse(self.part("buttons").is_displayed())
        self.assertFalse(self.part("token-form").is_displayed())

    def test_a_name_of_somebody_elses_shows_nothing(self):
        server = self.start()
        self.open(f"http://evil.example:{server.port}/api/streams",
                  "--host-resolver-rules=MAP evil.example 127.0.0.1")
        for path in ("/", "/api/streams", "/streams/street/picture.jpg"):
            self.browser.get(f"http://evil.example:{server.port}{path}")
            said = self.browser.find_element(By.TAG_NAME, "body").text
            self.assertIn("not known as 'evil.example", said)
            self.assertNotIn("street", said)
        metrics = server.metrics.replace("127.0.0.1", "evil.example")
        self.browser.get(metrics)
        self.assertIn("millrace_", self.browser.page_source)
        self.browser.get(metrics.replace("/metrics", "/debug/trace"))
        self.assertIn("not known as 'evil.example", self.browser.page_source)


if __name__ == "__main__":
    unittest.main()
