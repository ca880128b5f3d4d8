"""Take the pictures of README.md into docs/assets: a table in a terminal, its report and a plan; and keep the table as text
in terminal.txt, of which README.md has rows.

Usage: python setup/screenshots.py [RESULTS]. Without a results folder it simulates the demo, for minutes. Needs
chromium and its driver, as tests/browser does.
"""

import base64
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from chromium import Chrome, chromium, wait_drawn  # noqa: E402

ASSETS = ROOT / "docs" / "assets"
PERJOULE = Path(sys.executable).with_name("perjoule")
COLUMNS = 80  # of the terminal
WIDTH, MOST_HEIGHT = 1000, 870  # of a page, in pixels
# rich's own page takes its font from the network
WITHOUT_FONTS = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def perjoule(*words: str | Path) -> str:
    """Run a command, and return what it prints. Raises CalledProcessError."""
    done = subprocess.run([PERJOULE, *words], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def at_terminal(*words: str) -> str:
    """Run a command in a terminal of COLUMNS, and return what it prints, with its colours."""
    typed = f"stty cols {COLUMNS}; {' '.join((str(PERJOULE), *words))}"
    done = subprocess.run(
        ["script", "--quiet", "--return", "--command", typed, "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.replace("\r", "")


def terminal_svg(typed: str, printed: str) -> str:
    """Draw a terminal with a command and what it printed."""
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        console.print(Text(f"$ {typed}", style="bold"))
        console.print(Text.from_ansi(printed))
        return console.export_svg(title="perjoule", code_format=WITHOUT_FONTS)


def picture(page: Chrome, target: Path, width: float, height: float) -> None:
    """Keep the top of what a browser shows as a PNG."""
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    target.write_bytes(base64.b64decode(page.execute_cdp_cmd("Page.captureScreenshot", options)["data"]))
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size / 1000:.0f} kB")


def main(results: Path | None) -> None:
    """Measure if nothing is given, and take the pictures."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if results is None:
            results = folder / "demo"
            perjoule("demo", "--simulate", "--into", results)
        perjoule("report", results)
        perjoule("plan", ROOT / "examples" / "needs" / "archive.toml", "--page", folder / "plan.html")
        (ASSETS / "terminal.txt").write_text(perjoule("show", results), encoding="utf-8")
        drawing = folder / "terminal.svg"
        drawing.write_text(terminal_svg("perjoule show results/demo", at_terminal("show", str(results))))
        with chromium(folder, WIDTH) as page:
            page.get(drawing.as_uri())
            view = page.execute_script("return document.documentElement.viewBox.baseVal")
            for side in ("width", "height"):
                page.execute_script(f"document.documentElement.setAttribute('{side}', {view[side]})")
            picture(page, ASSETS / "terminal.png", view["width"], view["height"])
            for name, source in (("report", results / "report.html"), ("plan", folder / "plan.html")):
                page.get(source.absolute().as_uri())
                wait_drawn(page)
                picture(page, ASSETS / f"{name}.png", WIDTH, MOST_HEIGHT)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
