"""Write the record of what datasheets say: PYTHONPATH=tests python -m record.write [DIR [NAME …]].

A name is that of a folder, or `verdicts-KIND` of a kind of planted judges; without one, all are written.
Without a DIR, the screens that tests compare as a whole are written anew: read their diff before you commit.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from calibration.words import sheet_of, verdicts_only
from calibration.worlds import KINDS, World
from record.folders import FOLDERS, make
from record.render import WIDE, forms, screens
from record.reports import REPORTS, printed

SEED = 0
SCREENS = Path(__file__).with_name("screens")
"""First screens of every folder, all forms of some, and every report, as they were looked at."""
IN_ALL_FORMS = ("natural-longer-preferred", "rows-strata", "judges-five-pairs")
VERDICTS = {f"verdicts-{kind}": kind for kind in KINDS}


def write_folder(name: str, out: Path) -> None:
    """One file a form."""
    with TemporaryDirectory() as place:
        for form, text in forms(make(name, Path(place))).items():
            (out / f"{name}.{form}.txt").write_text(text, encoding="utf-8")


def recorded_forms(name: str, told: Mapping[str, str]) -> dict[Path, str]:
    """What a folder says, by the file that holds it."""
    kept = ("screen", "full", "markdown", "page") if name in IN_ALL_FORMS else ("screen",)
    return {SCREENS / f"{name}.{form}.txt": told[form] for form in kept}


def write_screens() -> None:
    SCREENS.mkdir(exist_ok=True)
    for name in FOLDERS:
        with TemporaryDirectory() as place:
            for path, text in recorded_forms(name, forms(make(name, Path(place)), WIDE)).items():
                path.write_text(text, encoding="utf-8")
    for name in REPORTS:
        with TemporaryDirectory() as place:
            report_file(name).write_text(printed(name, Path(place)), encoding="utf-8")


def report_file(name: str) -> Path:
    """Where a report is recorded."""
    return SCREENS / f"{name}.report.txt"


def write_verdicts(name: str, out: Path) -> None:
    """The first screen of every planted judge of a kind at every size."""
    kind = KINDS[VERDICTS[name]]
    answers = {judge: planted.answers for judge, planted in kind.judges.items()}
    told = []
    for size, called in enumerate(kind.sizes):
        with verdicts_only():
            sheet = sheet_of(World.of(VERDICTS[name], size, SEED), answers, SEED)
        told += [f"=== {called}\n{screen}" for screen in screens(sheet)]
    (out / f"{name}.txt").write_text("\n".join(told), encoding="utf-8")


def main() -> None:
    """Write what is named, or all."""
    parser = argparse.ArgumentParser(prog="record.write", description=__doc__)
    parser.add_argument("out", type=Path, nargs="?", metavar="DIR")
    parser.add_argument("names", nargs="*", choices=[[], *FOLDERS, *VERDICTS], metavar="NAME")
    given = parser.parse_args()
    if given.out is None:
        write_screens()
        return
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or (*FOLDERS, *VERDICTS):
        (write_folder if name in FOLDERS else write_verdicts)(name, given.out)


if __name__ == "__main__":
    main()
