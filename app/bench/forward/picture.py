# SPDX-License-Identifier: BSD-3-Clause
"""The picture: cycles per packet by workload and forwarder, split into I/O and processing, as figure 8 of Intel's
"Benchmarking and Analysis of Software Data Planes" (2017) splits instructions. FILE.svg follows the reader's colour
scheme, FILE-dark.svg is always dark; PNG of both if rsvg-convert is installed."""
import shutil
import subprocess
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT = 860, 190, 70
BAR, GAP, GROUP_GAP, TOP, BOTTOM = 14, 4, 30, 64, 26
LIGHT = {"back": "#ffffff", "text": "#1c2128", "soft": "#5d6672", "line": "#d5dae0", "io": "#8fa3b8", "work": "#c8601d"}
DARK = {"back": "#14181d", "text": "#e8ebef", "soft": "#9aa4b0", "line": "#333b45", "io": "#62788f", "work": "#ec8b4a"}


def style(colours):
    rules = {".back": f"fill:{colours['back']}", ".text": f"fill:{colours['text']}", ".soft": f"fill:{colours['soft']}",
             ".line": f"stroke:{colours['line']}", ".io": f"fill:{colours['io']}", ".work": f"fill:{colours['work']}"}
    return " ".join(f"{name}{{{rule}}}" for name, rule in rules.items())


def drawn(envelope):
    """{workload: [(label, ours, I/O cycles or None, cycles)]}: frames of 64 bytes, warm, at full rate, default pools,
    on simulated NICs."""
    cells = {c["name"]: c for c in envelope["cells"] if c["engine"] == "inline" and c["cpp_wall"] and not c["lost"] > 0.01}
    groups = {}
    for name, c in cells.items():
        workload, condition, _ = name.split("/")
        if condition != "64":
            continue
        suffix = "-cache_aware" if c["pool"] == "cache_aware" else ""
        floor = cells.get(f"patch/64{suffix}/testpmd-io")
        io = min(floor["cpp_wall"], c["cpp_wall"]) if floor else None
        label = f"{c['forwarder']} {c['mode'] or ''}".strip()
        groups.setdefault(workload, []).append((label, c["forwarder"] == "turnpike", io, c["cpp_wall"]))
    return groups


def scale_of(groups):
    """Cycles at the right end: fits turnpike and DPDK's forwarders; bars of slower switches are truncated."""
    usual = [cycles for bars in groups.values() for label, _, _, cycles in bars if not label.startswith("ovs")]
    return 1.05 * max(usual or [cycles for bars in groups.values() for *_, cycles in bars])


def text(x, y, what, kind="text", size=12, anchor="start", weight="normal"):
    return (f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(what)}</text>')


def box(x, y, width, height, kind):
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(0, width):.1f}" height="{height}"/>'


def bar(y, label, ours, io, cycles, per_pixel, most):
    shown = min(cycles, most)
    first = min(io or 0, shown)
    words = [text(LEFT - 8, y + BAR - 3, label, anchor="end", weight="bold" if ours else "normal"),
             box(LEFT, y, first * per_pixel, BAR, "io"),
             box(LEFT + first * per_pixel, y, (shown - first) * per_pixel, BAR, "work" if io else "soft")]
    end = LEFT + shown * per_pixel + 5
    return words + [text(end, y + BAR - 3, f"{cycles:.0f}" + (" \u2192" if cycles > most else ""), size=11,
                         weight="bold" if ours else "normal")]


def grid(height, per_pixel, most):
    step = next(s for s in (10, 20, 25, 50, 100, 200, 500, 1000, 10_000) if most / s <= 10)
    words = []
    for n in range(0, int(most) + 1, step):
        x = LEFT + n * per_pixel
        words += [f'<line class="line" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - BOTTOM}"/>',
                  text(x, height - 10, str(n), "soft", 11, "middle")]
    return words


def svg(envelope, groups, css):
    most = scale_of(groups)
    per_pixel = (WIDTH - LEFT - RIGHT) / most
    height = TOP + BOTTOM + sum(GROUP_GAP + len(bars) * (BAR + GAP) for bars in groups.values())
    split = any(io for bars in groups.values() for _, _, io, _ in bars)
    words = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
             f'height="{height}" font-family="system-ui, DejaVu Sans, sans-serif"><style>{css}</style>',
             box(0, 0, WIDTH, height, "back"),
             text(16, 24, "TSC cycles per packet, 64-byte frames, one core", size=16, weight="bold"),
             text(16, 44, f"{envelope['host']['cpu']}, SIMD up to {envelope['host']['max_simd_bitwidth']} bits; "
                  "without the device's work", "soft")]
    if split:
        words += [box(WIDTH - 250, 14, 12, 12, "io"), text(WIDTH - 232, 24, "I/O: testpmd io, same pools", size=12),
                  box(WIDTH - 250, 34, 12, 12, "work"), text(WIDTH - 232, 44, "processing: the rest", size=12)]
    if any(io is None for bars in groups.values() for _, _, io, _ in bars):  # testpmd io was not measured with its pools
        words += [box(WIDTH - 110, 34, 12, 12, "soft"), text(WIDTH - 92, 44, "not split", size=12)]
    words += grid(height, per_pixel, most)
    y = TOP
    for workload, bars in groups.items():
        words.append(text(16, y + 14, workload, weight="bold"))
        y += 20
        for one in bars:
            words += bar(y, *one, per_pixel, most)
            y += BAR + GAP
        y += GROUP_GAP - 20
    return "\n".join(words) + "\n</svg>\n"


def draw(envelope, path):
    """Writes the files; prints a line for each file and for each failure."""
    groups = drawn(envelope)
    if not groups:
        return [f"{path}: not drawn: no cell with frames of 64 bytes at full rate was measured"]
    dark = path.removesuffix(".svg") + "-dark.svg"
    said = []
    for file, css in ((path, f"{style(LIGHT)} @media (prefers-color-scheme: dark) {{{style(DARK)}}}"),
                      (dark, style(DARK))):
        with open(file, "w", encoding="utf-8") as out:
            out.write(svg(envelope, groups, css))
        said.append(f"wrote {file}")
        said.append(png(file))
    return said


def png(file):
    target = file.removesuffix(".svg") + ".png"
    if not shutil.which("rsvg-convert"):
        return f"no {target}: rsvg-convert is not installed (Debian's package librsvg2-bin)"
    done = subprocess.run(["rsvg-convert", "--zoom=2", "-o", target, file], capture_output=True, text=True, check=False)
    return f"wrote {target}" if done.returncode == 0 else f"no {target}: rsvg-convert: {done.stderr.strip()}"
