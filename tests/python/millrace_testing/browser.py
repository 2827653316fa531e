"""A real browser for tests: headless Chromium."""

import contextlib
import os
import pathlib

from axe_core_python.selenium import Axe
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE_S = 30


def open_browser(width: int, height: int, phone: bool = False,
                 arguments: tuple[str, ...] = ()) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--window-size={width},{height}", *arguments):
        options.add_argument(argument)
    if phone:
        options.add_experimental_option(
            "mobileEmulation",
            {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 2.0}})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path="/usr/bin/chromedriver")
    return webdriver.Chrome(options=options, service=service)


def wait(browser: webdriver.Chrome, condition, patience_s: float = PATIENCE_S):
    return WebDriverWait(browser, patience_s).until(lambda _: condition())


def part(browser: webdriver.Chrome, name: str):
    """The part with that name of the live page's card."""
    return browser.find_element(By.CSS_SELECTOR, f"main [data-is={name}]")


def save_picture(browser: webdriver.Chrome, name: str, element: str = "") -> None:
    """Saves a screenshot for the documentation to the folder in MILLRACE_SCREENSHOTS, if that is
    set: of the window, or of the element that a CSS selector names."""
    folder = os.environ.get("MILLRACE_SCREENSHOTS")
    if not folder:
        return
    path = str(pathlib.Path(folder) / f"{name}.png")
    if element:
        browser.find_element(By.CSS_SELECTOR, element).screenshot(path)
    else:
        browser.save_screenshot(path)


def faults(browser: webdriver.Chrome) -> list[str]:
    """Accessibility faults that axe-core finds, one line each, and the checks that it could not
    decide."""
    found = Axe().run(browser)
    lines = [f"{fault['id']}: {fault['help']}: {node['html']}" for fault in found["violations"]
             if fault["impact"] in ("serious", "critical") for node in fault["nodes"]]
    lines += [f"{rule['id']} was not judged: {rule['error']}" for rule in found["incomplete"]
              if "error" in rule]
    if "color-contrast" not in [rule["id"] for rule in found["passes"]]:
        lines.append("color-contrast was not judged at all")
    return lines


@contextlib.contextmanager
def dark_theme(browser: webdriver.Chrome):
    """Shows the page in the dark colour scheme."""
    def prefer(scheme: str) -> None:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme}]})

    prefer("dark")
    try:
        yield
    finally:
        prefer("light")


def overflow(browser: webdriver.Chrome) -> int:
    """The number of pixels by which the page is wider than its window."""
    return browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth")


def open_details(browser: webdriver.Chrome) -> None:
    """Opens the details of a stream's page."""
    browser.find_element(By.CSS_SELECTOR, "main summary").click()


def controls_of(browser: webdriver.Chrome) -> list:
    """All interactive elements, in the page's order."""
    return [control for control in browser.find_elements(
        By.CSS_SELECTOR, "a[href], button:not(:disabled), input, summary, [tabindex='0']")
            if control.is_displayed()]


def tab_walk(browser: webdriver.Chrome) -> list:
    """The elements that Tab reaches, in order; each must show a focus outline."""
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
