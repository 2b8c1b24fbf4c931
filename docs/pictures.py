"""Take the pictures of the documents anew, from a run made here: `python docs/pictures.py`; needs Chromium.

The run is the demonstration, two embedded judges, unless a run folder is named.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

IMAGES = Path(__file__).parent / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1280, 1180
"""Of the picture at the head of README, in pixels."""


def browser() -> str:
    """The first browser that is installed."""
    for name in BROWSERS:
        if path := shutil.which(name):
            return path
    sys.exit("docs/pictures.py: no browser found, expected one of " + ", ".join(BROWSERS) + "; install it.")


def take(page: Path, picture: Path) -> None:
    """The top of a page, in light colours."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    size = [f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}"]
    subprocess.run([browser(), *options, *size, page.resolve().as_uri()], check=True, capture_output=True)


def main() -> None:
    """Measure, unless a folder is given, and take the picture."""
    with tempfile.TemporaryDirectory(prefix="steelyard-pictures-") as scratch:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(scratch) / "demo"
        if not folder.exists():
            subprocess.run([sys.executable, "-m", "steelyard", "measure", "--out", str(folder)], check=True)
        take(folder / "datasheet.html", IMAGES / "datasheet.png")
        print(f"wrote {IMAGES / 'datasheet.png'}")


if __name__ == "__main__":
    main()
