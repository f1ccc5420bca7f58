"""The pages of `reprieve report --html` and `reprieve drill --html`, as a browser shows them."""
import re
import shutil
import signal
import subprocess

import pytest
from harness import EXIT_DURABLE, EXIT_USAGE, LIMIT, PYTHON, SAVER, one_line
from test_drill import drill, work  # noqa: F401

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
ASKED = ("--quiet-time", "200ms", "--checkpoint-signal", "USR1")
# A page that shows another one as narrow and as wide as people have it, and writes down what of it sticks out.
FRAMES = """<!DOCTYPE html><body><script>
const out = [];
for (const width of [400, 1400]) {
  const frame = document.createElement('iframe');
  frame.style.width = width + 'px';
  frame.onload = () => {
    const page = frame.contentDocument;
    out.push(`width ${width}: ${page.documentElement.scrollWidth}, bars ${page.querySelectorAll('.chart rect').length}`);
    for (const figure of page.querySelectorAll('.figures dd')) out.push(`figure ${figure.className}: ${figure.innerText}`);
    document.body.dataset.seen = out.join(';');
  };
  frame.src = 'page.html';
  document.body.append(frame);
}
</script></body>"""


def look(directory):
    """What a browser has seen of page.html: {what: text}."""
    if not BROWSER:
        pytest.skip("there is no chromium here (apt install chromium, 414 MB): the page is not looked at in a browser")
    (directory / "frames.html").write_text(FRAMES)
    shown = subprocess.run([BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
                            "--virtual-time-budget=5000", f"--user-data-dir={directory}/browser", "--dump-dom",
                            f"file://{directory}/frames.html"],
                           capture_output=True, text=True, timeout=LIMIT, env={"HOME": str(directory), "PATH": "/usr/bin:/bin"})
    seen = re.search(r'data-seen="([^"]*)"', shown.stdout)
    assert seen, shown.stderr
    return dict(part.split(": ", 1) for part in seen.group(1).split(";"))


def preempted(place):
    run = place.run(PYTHON, SAVER, "--on-signal", options=ASKED)
    run.wait_for_output("resumes")
    run.signal(signal.SIGTERM)
    assert run.wait() == EXIT_DURABLE, run


def test_the_page_of_a_report_and_its_figures_in_a_browser(place):
    preempted(place)
    preempted(place)
    page, chart = place.path / "page.html", place.path / "chart.svg"
    report = place.verb("report", "--json", "--html", str(page), "--svg", str(chart)).json
    text = page.read_text()
    assert "<script" not in text and "src=" not in text and "href=" not in text, "it needs nothing else"
    assert text.count('class="training"') == 3, "two bars and the legend"
    assert chart.read_text().startswith("<svg ") and chart.read_text().count("<title>training: ") == 2
    seen = look(place.path)
    for width in (400, 1400):
        assert int(seen[f"width {width}"].split(",")[0]) <= width, f"nothing sticks out: {seen}"
        assert int(seen[f"width {width}"].split("bars ")[1]) >= 4, seen
    shown, unit = seen["figure goodput"].split()
    assert unit == "%" and float(shown) / 100 == pytest.approx(report["total"]["goodput"], abs=0.001), seen
    assert seen["figure preemptions"] == "2"


def test_a_chart_is_of_one_job(place):
    for name in ("a", "b"):
        place.job = name
        preempted(place)
    refused = place.query("report", "--store", place.store, "--all", "--svg", str(place.path / "chart.svg"))
    assert refused.code != 0 and "--svg" in one_line(refused), refused
    page = place.path / "page.html"
    assert place.query("report", "--store", place.store, "--all", "--html", str(page)).code == 0
    assert "job a<" in page.read_text() and "job b<" in page.read_text()
    nowhere = place.query("report", "--store", place.store, "--all", "--html", "/no/such/page.html")
    assert nowhere.code not in (0, EXIT_USAGE) and "/no/such" in one_line(nowhere), nowhere


def test_the_page_of_a_drill(place, drill):  # noqa: F811
    page = place.path / "page.html"
    drilled = drill("--html", page, "--notice-after", "1s", "--notice", "20s", "--json")
    assert drilled.code == 0, drilled
    [round] = drilled.json["rounds"]
    text = page.read_text()
    assert f"durable after {round['durable_seconds']:.2f} s, {round['margin_seconds']:.2f} s before the end</text>" in text
    # The window is all of the axis, and the upload ends where the margin begins.
    assert re.search(r'class="notice" x="0.000%" y="\d+" width="100.000%"', text), text
    start, width = map(float, re.search(r'class="uploading" x="([\d.]+)%" y="\d+" width="([\d.]+)%"', text).groups())
    assert start + width == pytest.approx(100 * (1 - round["margin_seconds"] / 20), abs=0.01)
    seen = look(place.path)
    assert seen["figure survived"] == "1 of 1" and seen["figure notice"] == "20.00 s"
    assert int(seen["width 400"].split(",")[0]) <= 400, seen
