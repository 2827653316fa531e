"""A real browser for a test: Chromium without a window."""

import os
import pathlib

from axe_core_python.selenium import Axe
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE_S = 30


def open_browser(width: int, height: int, phone: bool = False) -> webdriver.Chrome:
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


def wait(browser: webdriver.Chrome, condition, patience_s: float = PATIENCE_S):
    return WebDriverWait(browser, patience_s).until(lambda _: condition())


def part(browser: webdriver.Chrome, name: str):
    """The part of the live page's card that is called so."""
    return browser.find_element(By.CSS_SELECTOR, f"main [data-is={name}]")


def save_picture(browser: webdriver.Chrome, name: str) -> None:
    """For the documentation: into the folder that MILLRACE_SCREENSHOTS names, if it names one."""
    folder = os.environ.get("MILLRACE_SCREENSHOTS")
    if folder:
        browser.save_screenshot(str(pathlib.Path(folder) / f"{name}.png"))


def serious_faults(browser: webdriver.Chrome) -> list[str]:
    """What axe-core finds that keeps people out, a line each."""
    return [f"{fault['id']}: {fault['help']}: {node['html']}"
            for fault in Axe().run(browser)["violations"]
            if fault["impact"] in ("serious", "critical") for node in fault["nodes"]]


def overflow(browser: webdriver.Chrome) -> int:
    """By how many pixels the page is too wide for its window."""
    return browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth")
