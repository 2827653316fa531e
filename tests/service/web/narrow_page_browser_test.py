"""The live page on phones and with pictures of any shape, in a real browser.

Usage: narrow_page_browser_test.py DEMO_SERVER"""

import pathlib
import sys
import unittest

from selenium.webdriver.common.by import By

from demo_process import DemoServer
from millrace_testing import browser as browsers
from millrace_testing.browser import faults, open_browser, open_details, overflow, part, save_picture

PROGRAM = pathlib.Path(sys.argv.pop(1))

# Elements that hold more than they show, or reach out of the window. What is for screen readers alone has no width.
CUT = """
    const cut = [];
    for (const element of document.querySelectorAll("body *")) {
      const box = element.getBoundingClientRect();
      if (box.width <= 1 || element.closest("svg") !== null && element.tagName !== "svg") continue;
      const what = `${element.tagName} ${element.className.baseVal ?? element.className} ${
        element.dataset?.is ?? ""} "${element.textContent.trim().slice(0, 40)}"`;
      if (element.scrollWidth > element.clientWidth && element.clientWidth > 0
          && getComputedStyle(element).display !== "inline") {
        cut.push(`${what}: ${element.scrollWidth} of ${element.clientWidth} px`);
      }
      if (box.left < -0.5 || box.right > document.documentElement.clientWidth + 0.5) {
        cut.push(`${what}: from ${box.left} to ${box.right}`);
      }
    }
    for (const text of document.querySelectorAll("svg text")) {
      const box = text.getBoundingClientRect();
      const frame = text.parentElement.querySelector("rect").getBoundingClientRect();
      if (box.left < frame.left || box.right > frame.right) cut.push(`svg text "${text.textContent}"`);
    }
    return cut;"""


class PhoneTest(unittest.TestCase):
    """Support for tests on a phone."""

    def open(self, width: int, *kind: str, address: str = ""):
        """Closes the phone that was open before: ten at a time take each other's processor."""
        self.doCleanups()
        server = DemoServer(PROGRAM, *kind)
        self.addCleanup(server.stop)
        phone = open_browser(width, 800, phone=True)
        self.addCleanup(phone.quit)
        phone.get(server.page + address)
        self.server = server
        return phone

    def open_stream(self, width: int, *kind: str):
        phone = self.open(width, *kind)
        browsers.wait(phone, lambda: phone.find_elements(By.CSS_SELECTOR, "main .card"))
        browsers.wait(phone, lambda: "rim" in part(phone, "scale").text)
        open_details(phone)
        return phone

    def assert_nothing_is_cut(self, phone) -> None:
        self.assertEqual(overflow(phone), 0)
        self.assertEqual(phone.execute_script(CUT), [])
        self.assertEqual(faults(phone), [])
        self.assertEqual(phone.get_log("browser"), [])


class NarrowPageTest(PhoneTest):
    def boxes(self, phone) -> list[dict]:
        return phone.execute_script(
            "return [...document.querySelectorAll('.pipeline .stage')].map(box => box.getBoundingClientRect().toJSON())")

    def test_the_pipeline_folds_and_no_column_is_cut(self):
        for width in (360, 320):
            for stages in (1, 4, 8):
                with self.subTest(width=width, stages=stages):
                    phone = self.open_stream(width, f"stages={stages}")
                    self.assert_nothing_is_cut(phone)
                    boxes = self.boxes(phone)
                    self.assertEqual(len(boxes), stages)
                    for above, below in zip(boxes, boxes[1:]):
                        self.assertEqual(above["left"], below["left"])
                        self.assertGreater(below["top"], above["bottom"])
                    shown = phone.execute_script("""
                        return [...document.querySelectorAll(".stages tbody tr")].map(row =>
                          [...row.cells].filter(cell => cell.checkVisibility()).map(cell => cell.dataset.column));""")
                    columns = ["stage", "layers", "cost, ms", "updates late", "updates"]
                    self.assertEqual(shown, [columns] * stages)
                    save_picture(phone, f"narrow-{width}-{stages}", ".plan")

    def test_the_pipeline_stands_in_a_row_where_there_is_room(self):
        for width, stages, in_a_row in ((1440, 4, True), (1440, 8, False), (800, 2, True)):
            with self.subTest(width=width, stages=stages):
                browser = self.open_stream(width, f"stages={stages}")
                self.assert_nothing_is_cut(browser)
                self.assertEqual(len({box["top"] for box in self.boxes(browser)}) == 1, in_a_row)
                save_picture(browser, f"wide-{width}-{stages}")

    def test_the_overview_fits(self):
        for width in (360, 320):
            with self.subTest(width=width):
                phone = self.open(width, "all-ways")
                browsers.wait(phone, lambda phone=phone: len(phone.find_elements(By.CSS_SELECTOR, "main .tile")) == 11)
                self.assert_nothing_is_cut(phone)
                save_picture(phone, f"narrow-overview-{width}")

    def shape(self, image) -> list | None:
        """[[width to height, how it fits] as it is shown, [width, height] of the picture], once one is loaded.

        Each new picture of the stream has no size until it is loaded: all is read at one time."""
        return image.parent.execute_script("""
            const image = arguments[0];
            const {width, height} = image.getBoundingClientRect();
            return image.naturalWidth === 0 ? null
              : [[width / height, getComputedStyle(image).objectFit], [image.naturalWidth, image.naturalHeight]];""",
                                           image)

    def test_pictures_keep_the_cameras_shape(self):
        for width, size in ((360, "360x640"), (360, "640x360"), (360, "256x64"), (1440, "360x640"), (1440, "640x360")):
            with self.subTest(width=width, size=size):
                browser = self.open_stream(width, f"size={size}")
                self.assert_nothing_is_cut(browser)
                wide, high = map(int, size.split("x"))
                for name in ("picture", "flow"):
                    shown, frame = browsers.wait(browser, lambda image=part(browser, name): self.shape(image))
                    self.assertEqual(frame, [wide, high])
                    self.assertEqual(shown[1], "contain")  # Whatever room there is: never squashed.
                    if wide > high:
                        self.assertAlmostEqual(shown[0], wide / high, delta=0.05)
                save_picture(browser, f"shape-{width}-{size}")


class UnknownAddressTest(PhoneTest):
    """An address that names no stream says so, with a way back."""

    def missing(self, phone) -> str:
        notice = phone.find_element(By.ID, "missing")
        return notice.text if notice.is_displayed() else ""

    def test_says_that_there_is_no_such_stream(self):
        for kind, cards in (((), ".card"), (("three",), ".tile")):
            for address in ("/#/nosuch", "/#/no%20such", "/#/%", "/#nosuch", "/#/street/more"):
                with self.subTest(kind=kind, address=address):
                    phone = self.open(360, *kind, address=address)
                    browsers.wait(phone, lambda phone=phone: "has no stream" in self.missing(phone))
                    self.assertEqual(phone.title, "No such stream · Millrace")
                    self.assertEqual(phone.find_elements(By.CSS_SELECTOR, "main .card"), [])
                    self.assert_nothing_is_cut(phone)
                    phone.find_element(By.CSS_SELECTOR, "#missing a").click()
                    browsers.wait(phone, lambda phone=phone, cards=cards: phone.find_elements(
                        By.CSS_SELECTOR, f"main {cards}"))
                    self.assertEqual(self.missing(phone), "")

    def test_comes_to_a_stream_by_itself_once_it_is_named_right(self):
        phone = self.open(360, "three", address="/#/nosuch")
        browsers.wait(phone, lambda: "“nosuch”" in self.missing(phone))
        phone.execute_script("location.hash = '#/other'")
        browsers.wait(phone, lambda: "“other”" in self.missing(phone))
        phone.execute_script("location.hash = '#/yard'")
        browsers.wait(phone, lambda: phone.title == "yard · Millrace")
        self.assertEqual(self.missing(phone), "")


if __name__ == "__main__":
    unittest.main()
