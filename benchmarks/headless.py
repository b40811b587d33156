"""A headless Chromium, driven by selenium: for pages that have to be opened the way people open them."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["headless_chromium", "set_screen", "why_no_browser"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def _browser() -> str | None:
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def why_no_browser() -> str | None:
    """Return what is missing for a browser; None if there is one."""
    if _browser() is None or shutil.which("chromedriver") is None:
        return "needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "needs selenium (pip install selenium)"
    return None


@contextmanager
def headless_chromium(*, downloads: Path | None = None) -> Iterator:
    """Hold a browser for the length of a block.

    Parameters
    ----------
    downloads : Path or None, default=None
        Where files go that are downloaded.

    Yields
    ------
    driver : selenium.webdriver.Chrome
    """
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = _browser()
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
            options.add_argument(argument)
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            if downloads is not None:
                behavior = {"behavior": "allow", "downloadPath": str(downloads)}
                driver.execute_cdp_cmd("Browser.setDownloadBehavior", behavior)
            yield driver
        finally:
            driver.quit()


def set_screen(driver, *, width: int, height: int, dark: bool = False) -> None:
    """Let the page see a screen of another size, and whether its user prefers dark colors."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
