"""The page of `report` in a real browser: sorted, filtered, decided on, reloaded, downloaded, read back."""

import csv
import time

import numpy as np
import pandas as pd
import pytest

from benchmarks.headless import headless_chromium, set_screen, why_no_browser
from sklearn_lec.inspection import apply_corrections, report
from sklearn_lec.inspection.cells import to_cell
from tests.inspection.issues import HOSTILE_LABELS, made_up_issues

pytestmark = pytest.mark.skipif(why_no_browser() is not None, reason=why_no_browser() or "")

ISSUES = made_up_issues(HOSTILE_LABELS)
Y = ISSUES["given_label"]


class Page:
    """What a person sees on the page, and does."""

    def __init__(self, driver, downloads, path):
        self.driver, self.downloads, self.url = driver, downloads, path.as_uri()
        set_screen(driver, width=1280, height=800)
        driver.get(self.url)
        # A page that is opened at once may still find what has just been cleared: processes of the browser tell each
        # other later.
        while driver.execute_script("return localStorage.length"):
            driver.execute_script("localStorage.clear()")
            driver.get(self.url)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def press(self, keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def choose(self, name, value):
        self.run(
            "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event('input', {bubbles: true}))",
            name,
            value,
        )

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def numbers(self):
        """Return the samples at the top of the list."""
        return [int(text.split()[0].lstrip("#")) for text in self.texts(".row .number")]

    def found(self):
        return int(self.find("#found").text.split()[0])

    def selected(self):
        return int(self.find("#name").text.split()[1])

    def download(self):
        for old in self.downloads.iterdir():
            old.unlink()
        self.find("#download").click()
        deadline = time.monotonic() + 10
        while not (self.downloads / "decisions.csv").exists():
            assert time.monotonic() < deadline, "nothing was downloaded"
            time.sleep(0.02)
        return self.downloads / "decisions.csv"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    downloads = tmp_path_factory.mktemp("downloads")
    with headless_chromium(downloads=downloads) as driver:
        yield driver, downloads


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    X = pd.DataFrame(
        {"height": np.linspace(0, 1, 60), "<b>bold</b>": HOSTILE_LABELS * 5, '=1+"x",\n': np.arange(60)},
    )
    return report(None, X, tmp_path_factory.mktemp("page") / "report.html", issues=ISSUES)


@pytest.fixture
def page(browser, path):
    return Page(*browser, path)


def test_the_page_opens_without_an_error_and_loads_nothing(page):
    assert page.driver.get_log("browser") == []
    assert page.run("return performance.getEntriesByType('resource').length") == 0
    assert page.found() == 60


def test_hostile_labels_names_and_values_are_shown_as_text(page):
    shown = dict(zip(page.numbers(), page.texts(".row .given .label"), strict=True))
    names = set(page.texts(".features td:first-child"))

    assert shown == {number: Y[number] for number in shown}
    assert names == {"height", "<b>bold</b>", '=1+"x",\n'}
    assert sorted(page.texts("#given option"))[:3] == sorted(["any", *HOSTILE_LABELS])[:3]
    assert page.driver.title == "Which labels are wrong?"
    assert page.run("return document.querySelectorAll('#review img, #review script, #overview img').length") == 0


def test_the_list_is_sorted_by_quality_and_by_what_its_heads_say(page):
    assert page.numbers()[:4] == [0, 1, 2, 3]

    page.find("[data-sort=number]").click()
    page.find("[data-sort=number]").click()
    assert page.numbers()[:4] == [59, 58, 57, 56]

    page.find("[data-sort=given]").click()
    first = sorted(HOSTILE_LABELS)[0]
    assert [Y[number] for number in page.numbers()][:2] == [first, first]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"status": "issue"}, ISSUES["is_label_issue"]),
        ({"given": str(sorted(HOSTILE_LABELS).index("+1"))}, Y == "+1"),
        ({"other": str(sorted(HOSTILE_LABELS).index("01"))}, ISSUES["suggested_label"] == "01"),
        ({"low": "0.25", "high": "0.5"}, ISSUES["label_quality"].between(0.25, 0.5)),
        ({"search": "<IMG SRC"}, None),
        ({"search": "#17"}, ISSUES.index == 17),
        ({"status": "decided"}, np.zeros(60, dtype=bool)),
        ({"status": "issue", "high": "0.3"}, ISSUES["is_label_issue"] & (ISSUES["label_quality"] <= 0.3)),
    ],
    ids=str,
)
def test_the_list_is_filtered_by_class_score_and_text(page, changes, expected):
    for name, value in changes.items():
        page.choose(name, value)

    if expected is None:  # in the label, in the suggestion, or in a value that is shown
        hostile = HOSTILE_LABELS[0]
        expected = (Y == hostile) | (ISSUES["suggested_label"] == hostile) | (np.arange(60) % 12 == 0)
    assert page.found() == expected.sum()
    assert expected[page.numbers()].all()


def test_only_the_rows_that_can_be_seen_are_there_and_the_keyboard_reaches_all(page):
    from selenium.webdriver.common.keys import Keys

    page.press([Keys.END])
    last = page.selected()
    page.press([Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_DOWN])

    assert len(page.texts(".row")) < 30
    assert last == 59
    assert page.selected() == 58
    assert page.run("return document.activeElement.id") == "viewport"
    bounds = "const r = document.querySelector('.row[aria-selected=true]').getBoundingClientRect();"
    assert page.run(bounds + "return r.top > 0 && r.bottom < innerHeight")


def test_decisions_by_keyboard_go_to_the_next_sample_and_can_be_undone(page):
    page.choose("status", "issue")
    page.run("document.getElementById('viewport').focus()")

    page.press("kcd")
    assert page.texts(".row .badge")[:3] == ["kept", "→ " + ISSUES["suggested_label"][3], "dropped"]
    assert page.selected() == 9

    page.press("u")
    assert page.selected() == 6
    assert page.texts(".row .badge")[2] == "suspect"
    assert page.find("#progress").text == "2 decided"


def test_decisions_by_mouse(page):
    page.driver.find_elements("css selector", ".row")[3].click()
    chosen = page.selected()
    page.find("#drop").click()
    page.find("#keep").click()
    page.find("#undo").click()

    lines = list(csv.DictReader(page.download().open(encoding="utf-8-sig", newline="")))

    assert [(line["sample"], line["decision"]) for line in lines] == [(str(chosen), "drop")]


def test_another_label_is_chosen_by_keyboard(page):
    number, code = page.selected(), sorted(HOSTILE_LABELS).index("plain")

    page.press("o")
    page.run("document.activeElement.value = arguments[0]", str(code))
    page.press("\n")
    focus = page.run("return document.activeElement.id")

    line = next(csv.DictReader(page.download().open(encoding="utf-8-sig", newline="")))
    assert (line["sample"], line["decision"], line["new_label"]) == (str(number), "change", "plain")
    assert focus == "viewport"


def test_a_filter_of_open_samples_moves_on_by_itself(page):
    page.choose("status", "open")
    page.run("document.getElementById('viewport').focus()")
    before = page.numbers()

    page.press("kk")

    assert page.found() == 58
    assert page.numbers()[:5] == before[2:7]


def test_decisions_survive_a_reload_and_come_back_unchanged(page):
    page.choose("status", "issue")
    page.run("document.getElementById('viewport').focus()")
    page.press("kcd" * 6 + "kc")
    page.driver.get(page.url)
    assert page.find("#progress").text == "20 decided"

    labels, dropped, trusted = apply_corrections(Y, page.download())

    suspect = np.arange(0, 60, 3)
    kept, changed, gone = suspect[0::3], suspect[1::3], suspect[2::3]
    assert np.flatnonzero(dropped).tolist() == gone.tolist()
    assert np.flatnonzero(trusted).tolist() == sorted([*kept, *changed])
    assert labels[changed].tolist() == ISSUES["suggested_label"][changed].tolist()
    assert labels.drop(changed).equals(Y.drop(changed))


def test_each_hostile_label_comes_back_as_a_new_label(page):
    for code in range(len(HOSTILE_LABELS)):
        page.run("document.getElementById('target').value = arguments[0]", str(code))
        page.find("#change").click()
    path = page.download()

    labels = apply_corrections(Y, path).labels
    cells = [line["new_label"] for line in csv.DictReader(path.open(encoding="utf-8-sig", newline=""))]

    assert labels[: len(HOSTILE_LABELS)].tolist() == sorted(HOSTILE_LABELS)
    assert cells == [to_cell(label) for label in sorted(HOSTILE_LABELS)]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)


def test_decisions_from_another_tab_arrive_without_moving_the_list(page):
    page.press("k")
    page.driver.find_elements("css selector", ".row")[4].click()
    before = page.selected()

    page.run(
        "const [key] = Object.keys(localStorage); localStorage[key] = JSON.stringify({2: ['drop', -1, 0]});"
        "dispatchEvent(new StorageEvent('storage', {key}))"
    )

    assert page.texts(".row .badge")[:3] == ["suspect", "", "dropped"]
    assert page.selected() == before


def test_decisions_on_other_data_are_kept_apart(browser, page, tmp_path):
    page.press("kk")
    other = report(None, np.zeros((60, 2)), tmp_path / "other.html", issues=ISSUES)
    page.driver.get(other.as_uri())

    assert page.find("#progress").text == "0 decided"


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_fits_a_telephone_in_light_and_dark(page, dark):
    set_screen(page.driver, width=400, height=800, dark=dark)
    page.driver.get(page.url)

    assert page.run("return document.documentElement.scrollWidth") == 400
    for name in ("keep", "accept", "drop", "undo", "target", "change", "download"):
        box = page.find(f"#{name}").rect
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400
        assert box["y"] + box["height"] <= 800
    brightness = page.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(brightness) < 60) == dark


def test_every_control_has_a_name(page):
    names = page.run(
        "return [...document.querySelectorAll('button, select, input, [role=listbox], [role=img]')].map((e) =>"
        "(e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent || '').trim())"
    )

    assert len(names) > 15
    assert all(names)


def test_the_overview_is_opened_with_the_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    page.find("#tab-review").click()
    page.press([Keys.ARROW_RIGHT])

    assert page.find("#overview").is_displayed()
    assert not page.find("#review").is_displayed()
    page.press("k")
    assert page.find("#progress").text == "0 decided"


def test_thumbnails_show_the_image_of_their_sample(browser, tmp_path):
    images = np.zeros((60, 4, 4), dtype=np.uint8) + np.arange(60, dtype=np.uint8)[:, None, None] * 4
    path = report(None, images, tmp_path / "images.html", issues=ISSUES)
    page = Page(*browser, path)
    page.find("[data-sort=number]").click()
    page.find("[data-sort=number]").click()
    time.sleep(0.2)

    shot = page.driver.get_screenshot_as_base64()
    thumb = page.run("const r = document.querySelectorAll('.row .thumb')[1].getBoundingClientRect(); return [r.x, r.y]")
    grey = page.driver.execute_async_script(
        "const [x, y, shot, done] = arguments; const i = new Image(); i.onload = () => {"
        "const c = document.createElement('canvas'); c.width = i.width; c.height = i.height;"
        "const t = c.getContext('2d'); t.drawImage(i, 0, 0);"
        "done(t.getImageData(x + 20, y + 20, 1, 1).data[0]); }; i.src = 'data:image/png;base64,' + shot;",
        *thumb,
        shot,
    )

    assert abs(grey - 58 * 4) <= 2
