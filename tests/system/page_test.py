#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""HTML pages in a real browser (headless Chromium): of a running router by its metrics port, by turnpikectl, and written at
the end; of a result of turnpike-throughput. At three sizes and in both themes, without a message on the console, without a
horizontal scroll bar, and without a violation of axe-core's accessibility rules (devtools/setup fetches them where there is npm)."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from lib import tap  # noqa: E402
from lib.control_socket import Operator  # noqa: E402
from lib.dut import BUILD  # noqa: E402
from lib.hosts import Lab, wait_until  # noqa: E402
from lib.routed import EAST, answers, cabled, ping, start  # noqa: E402
from throughput_test import PROGRAM as THROUGHPUT, Run, Scale, page_of_paper  # noqa: E402

CTL = os.path.join(BUILD, "app/turnpikectl/turnpikectl")
WIDTHS = {"telephone": 390, "tablet": 820, "screen": 1440}
HEIGHT = 3600  # of the screenshots: most of the page
BROWSER_S = 60
# Appended to a copy of the page, whose Content-Security-Policy is removed: the page itself has no script.
PROBE = """<script>
const wide = [...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') &&
    e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.tagName + '.' + e.className);
const style = getComputedStyle(document.body), root = document.documentElement;
console.log('probe ' + JSON.stringify({wide, back: style.backgroundColor, text: style.color, width: innerWidth,
    scroll: root.scrollWidth > root.clientWidth}));
</script>"""
# Answers with the broken rules and their elements (axe-core's `axe.run`), and the number of rules that were kept.
AXE_PROBE = """<script>axe.run().then(r => console.log('axe ' + JSON.stringify({kept: r.passes.length, broken:
    r.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 200))])}) + ' end'));</script>"""
# A window of the browser has at least 500 pixels; a frame may be narrower.
FRAME = """<!doctype html><meta name="color-scheme" content="light dark"><title>frame</title><style>body{{margin:0}}</style>
<iframe src="page.html" style="border:0;display:block;width:{}px;height:{}px"></iframe>"""


def chromium(host, folder, *words):
    """Runs the browser; returns (standard output, messages of the console)."""
    done = host.run(["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                     f"--user-data-dir={folder}/profile", "--enable-logging=stderr", "--v=0", *words], timeout=BROWSER_S)
    # On a loaded machine Chromium's own hidden pages complain about slow fonts.
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line and "source: chrome://" not in line]


def luminance(colour):
    """Relative luminance of rgb(r, g, b) (WCAG 2)."""
    parts = [int(n) / 255 for n in re.findall(r"\d+", colour)[:3]]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def png_size(path):
    with open(path, "rb") as file:
        head = file.read(24)
    assert head[:8] == b"\x89PNG\r\n\x1a\n", head
    return struct.unpack(">II", head[16:24])


def axe_core():
    """axe-core's script, which devtools/setup fetches."""
    script = pathlib.Path(__file__).resolve().parents[2] / ".sdk/axe-core/axe.min.js"
    if not script.exists():
        tap.skip("npm could not fetch axe-core")
    return script.read_text(encoding="utf-8")


def write_page(folder, page, *scripts):
    """A copy of the page with scripts at its end."""
    with open(os.path.join(folder, "page.html"), "w", encoding="utf-8") as file:
        page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        file.write(page.replace("</body>", "".join(scripts) + "</body>"))


def check_accessibility(host, folder, page):
    """The rules of axe-core, in both themes (contrast differs)."""
    write_page(folder, page, "<script>", axe_core(), "</script>", AXE_PROBE)
    for theme in range(2):
        _out, said = chromium(host, folder, f"--blink-settings=preferredColorScheme={theme}", "--virtual-time-budget=30000",
                              "--dump-dom", f"file://{folder}/page.html")
        found = json.loads(next(re.search(r"axe (\{.*\}) end", line)[1] for line in said if "axe {" in line))
        assert found["kept"] >= 10 and not found["broken"], json.dumps(found, indent=1)


def look_at(host, folder, page):
    """The page at each width and in both themes."""
    write_page(folder, page, PROBE)
    for name, width in WIDTHS.items():
        frame = os.path.join(folder, name + ".html")
        with open(frame, "w", encoding="utf-8") as file:
            file.write(FRAME.format(width, HEIGHT))
        for number, theme in enumerate(("dark", "light")):  # the numbers of Chromium's preferredColorScheme
            shot = os.path.join(folder, f"{name}-{theme}.png")
            _out, said = chromium(host, folder, f"--blink-settings=preferredColorScheme={number}", f"--screenshot={shot}",
                                  f"--window-size={width},{HEIGHT}", f"file://{frame}")
            assert len(said) == 1 and "probe {" in said[0], said  # nothing else on the console
            found = json.loads(re.search(r"probe (\{.*?\})", said[0])[1])
            assert found["width"] == width and not found["scroll"] and not found["wide"], (name, theme, found)
            assert png_size(shot) == (width, HEIGHT), (shot, png_size(shot))
            light = luminance(found["back"]) > 0.5
            assert light == (theme == "light"), (name, theme, found)
            low, high = sorted((luminance(found["back"]), luminance(found["text"])))
            assert (high + 0.05) / (low + 0.05) >= 7, found  # WCAG 2, level AAA


def keep_screenshots(folder):
    if keep := os.environ.get("TURNPIKE_KEEP_SCREENSHOTS"):
        for name in os.listdir(folder):
            if name.endswith((".png", ".html")):
                shutil.copy(os.path.join(folder, name), keep)


def test_the_page_of_a_router():
    if shutil.which("chromium") is None:
        tap.skip("chromium is not installed")
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        west, dut, _east = cabled(lab)
        path = os.path.join(folder, "control.sock")
        html = os.path.join(folder, "at-the-end.html")
        running = start(lab, dut, control={"socket": path}, metrics={"listen": "127.0.0.1:9417"},
                        options=["--report-html", html])
        ping(west, EAST[0])
        assert not answers(west, "10.9.0.1")
        # The path of a configuration is the only free text of an operator that the page shows.
        odd = os.path.join(folder, "<script>console.log(1)<.yaml")
        with open(running.config, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        with open(odd, "w", encoding="utf-8") as file:
            yaml.safe_dump({**config, "icmp": {"rate": 77}}, file)
        subprocess.run([CTL, "--socket", path, "apply", odd], check=True, capture_output=True)
        # Lines of ports need three samples, one a second.
        operator = Operator(path)
        wait_until(lambda: len(operator.show("rates", history=True)["ports"][0]["history"]["rx_bits"]) >= 2, "samples", 20)
        dom, said = chromium(dut, folder, "--dump-dom", "http://127.0.0.1:9417/")
        assert not said, said
        for text in ("Verdict and headroom", "west", "east", "no_route", "Add a route or a default route", "neighbours",
                     "polyline", "IPv4 routes of VRF main", "packet buffers (mbufs)", "apply ",
                     "&lt;script&gt;console.log(1)&lt;.yaml"):
            assert text in dom, (text, dom)
        done = subprocess.run([CTL, "--socket", path, "report", "--html"], capture_output=True, text=True, check=True)
        assert done.stderr == "" and "no_route" in done.stdout and "</html>" in done.stdout, done
        assert "<script" not in done.stdout
        look_at(dut, folder, done.stdout)
        plain = subprocess.run([CTL, "--socket", path, "report"], capture_output=True, text=True, check=True)
        assert json.loads(plain.stdout)["schema"] == "turnpike.report/2"
        tables = {t["name"]: t for t in operator.show("tables")["tables"]}
        assert tables["neighbours"]["entries"] == 2 and tables["neighbours"]["max_entries"] > 2, tables
        assert tables["IPv4 routes of VRF main"]["max_entries"] is None, tables
        running.stop()
        with open(html, encoding="utf-8") as file:
            page = file.read()
        assert "no_route" in page and "Tables and their limits" in page and "</html>" in page, page
        keep_screenshots(folder)


def test_the_page_of_a_throughput_run():
    if shutil.which("chromium") is None:
        tap.skip("chromium is not installed")
    run = Run("throughput: {method: rfc2544, trial_ms: 50, resolution: 2k}\nlatency: {trial_ms: 50}\n"
              "frame_loss: {trial_ms: 50}\nback_to_back: {repeats: 2, max_frames: 100}", right=",cap=5000,buffer=20")
    run.size()
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        path = os.path.join(folder, "result.html")
        subprocess.run([THROUGHPUT, "--result", run.output, "--html", path], check=True, capture_output=True)
        with open(path, encoding="utf-8") as file:
            page = file.read()
        for part in ("functional rate", "Throughput by frame size", "Frame loss rate", "Course of the search", "net_simnic"):
            assert part in page, part
        reader = lab.host("reader")
        look_at(reader, folder, page)
        keep_screenshots(folder)
        scale = Scale()
        scale.end()
        with open(scale.page, encoding="utf-8") as file:
            look_at(reader, folder, file.read())
        look_at(reader, folder, page_of_paper())


def test_the_pages_are_accessible():
    if shutil.which("chromium") is None:
        tap.skip("chromium is not installed")
    axe_core()
    with Lab() as lab, tempfile.TemporaryDirectory(prefix="turnpike-test-") as folder:
        _west, dut, _east = cabled(lab)
        html = os.path.join(folder, "at-the-end.html")
        start(lab, dut, options=["--report-html", html]).stop()
        check_accessibility(dut, folder, pathlib.Path(html).read_text(encoding="utf-8"))
        run = Run("throughput: {method: rfc2544, trial_ms: 50, resolution: 2k}\nlatency: {trial_ms: 50}\n"
                  "frame_loss: {trial_ms: 50}\nback_to_back: {repeats: 2, max_frames: 100}", right=",cap=5000,buffer=20")
        run.size()
        path = os.path.join(folder, "result.html")
        subprocess.run([THROUGHPUT, "--result", run.output, "--html", path], check=True, capture_output=True)
        check_accessibility(dut, folder, pathlib.Path(path).read_text(encoding="utf-8"))
        scale = Scale()
        scale.end()
        check_accessibility(dut, folder, pathlib.Path(scale.page).read_text(encoding="utf-8"))
        check_accessibility(dut, folder, page_of_paper())


if __name__ == "__main__":
    tap.main(globals())
