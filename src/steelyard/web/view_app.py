"""The pages of the viewer: nothing they do changes anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from steelyard.commands import viewed_run
from steelyard.commands.call_index import CallFilter
from steelyard.commands.figure_calls import calls_behind, counted_calls
from steelyard.commands.history import JudgeSeries, series_of
from steelyard.commands.viewed_run import PublishedSheet, ViewedRun, sort_rows
from steelyard.core.text import replace_lone_surrogates
from steelyard.datasheet.datasheet import Datasheet
from steelyard.datasheet.render import html
from steelyard.datasheet.render.html.charts.catalogue import charts
from steelyard.datasheet.render.html.document import page_policy
from steelyard.datasheet.render.html.drawing.chart import Chart, chart_svg
from steelyard.datasheet.render.html.drawing.forest_plot import limit_scale
from steelyard.datasheet.sections.summary import summarise
from steelyard.errors import SteelyardError
from steelyard.stimuli.stimulus import reference_label
from steelyard.web.calls import (
    FILES,
    STEPS,
    Links,
    accuracy_map,
    figure_sentence,
    of_outcome,
    passing,
    passing_rows,
    remedied_calls,
)
from steelyard.web.history import HistoryPages
from steelyard.web.overview import VERDICTS, ComparisonPages, OverviewRow, choose, overview_rows, together
from steelyard.web.pages import application, download, page, page_number, run_messages
from steelyard.web.server import error_page

PAGE_SIZE = 50
MOST_COMPARISONS = 12
"""Judges that pages without a server compare with the first."""
FILTERS = ("find", "verdict", "study", "certificate", "sort")
"""Conditions of the overview, and its order."""
ORDER_TITLES = (("uv", "u first, v second"), ("vu", "v first, u second"))


class ViewPages:
    def __init__(
        self,
        folders: Sequence[Path],
        links: Callable[[int], Links] = Links,
        page_size: int = PAGE_SIZE,
        *,
        still: bool = False,
    ) -> None:
        """`still` makes pages that nobody answers: no filters, no progress."""
        self.runs = [ViewedRun(folder) for folder in viewed_run.run_folders(folders)]
        for run in self.runs:
            run.companions = self.runs
        self._links, self._page_size, self._still = links, page_size, still
        self._sheets: dict[int, tuple[int, str]] = {}
        self._drawn: tuple[PublishedSheet, Sequence[Chart]] | None = None
        self._comparisons = ComparisonPages(self.runs, links, page_size, still=still)
        self._history = HistoryPages(self.runs, links, self._series, self._comparisons.side, still=still)

    def app(self) -> Starlette:
        return application(
            Route("/", self.overview),
            Route("/compare", self._comparisons.compare),
            Route("/differing", self._comparisons.differing),
            Route("/together", self.together),
            Route("/history", self._history.history),
            Route("/history/{number:int}/{name}", self._history.file),
            Route("/run/{run:int}/", self.sheet),
            Route("/run/{run:int}/calls", self._of_calls(self.calls)),
            Route("/run/{run:int}/call/{name}", self._of_calls(self.call)),
            Route("/run/{run:int}/stimulus", self._of_calls(self.stimulus)),
            Route("/run/{run:int}/map", self._of_calls(self.map)),
            Route("/run/{run:int}/progress", self.progress),
            Route("/run/{run:int}/figures/{name}.svg", self.chart_file),
            Route("/run/{run:int}/files/{name}", self.files),
        )

    def _run(self, request: Request) -> tuple[ViewedRun, Links]:
        number = request.path_params["run"]
        if number >= len(self.runs):
            raise viewed_run.NotFoundError(f"There is no run {number} here.")
        if not self.runs[number].path.is_dir():
            raise viewed_run.NotFoundError(_gone(self.runs[number]))
        return self.runs[number], self._links(number)

    def _of_calls(
        self, handler: Callable[[Request, ViewedRun, Links], Response]
    ) -> Callable[[Request], Response]:
        """A page on calls, once the run is opened; one that is being opened says so."""

        def answer(request: Request) -> Response:
            run, links = self._run(request)
            if run.ready or self._still:
                return handler(request, run, links)
            run.open()
            return page(request, "view_opening.html.j2", run=run, still=self._still)

        return answer

    def _page(
        self, request: Request, template: str, run: ViewedRun, links: Links, **content: Any
    ) -> Response:
        return page(request, template, run=run, links=links, still=self._still, **content)

    def overview(self, request: Request) -> Response:
        columns, every = overview_rows(self._opened())
        wanted = {name: request.query_params.get(name, "")[:300] for name in FILTERS}
        now = datetime.now(UTC)
        judged = [row for row in every if row.judge is not None]
        studies = sorted({row.sheet.name for row in judged if row.sheet})
        certificates = list(dict.fromkeys(row.certificate_state(now) for row in judged))
        words = {row.verdict.word for row in judged if row.verdict}
        return page(
            request,
            "view_overview.html.j2",
            rows=choose(every, wanted, now),
            columns=columns,
            wanted=wanted,
            sort=wanted["sort"],
            filters=(
                ("verdict", "Verdict", [word for word in VERDICTS if word in words]),
                ("study", "Study", studies),
                ("certificate", "Certificate", certificates),
            ),
            verdict_order=VERDICTS,
            total=len(every),
            judge_count=len({row.side for row in judged}),
            run_count=len(self.runs),
            now=now,
            still=self._still,
            history=bool(self._series()),
            comparisons=[
                (f"/compare?{_sides(judged[0], row)}", f"{_spoken(judged[0])} and {_spoken(row)}")
                for row in judged[1:MOST_COMPARISONS]
            ],
            together_link=f"/together?{_sides(*judged)}",
        )

    def together(self, request: Request) -> Response:
        _, every = overview_rows(self._opened())
        ticked = request.query_params.getlist("side")
        chosen = [row for row in every if row.judge is not None and row.side in ticked]
        if not chosen:
            return error_page(400, "No judge is ticked: tick some on the overview.")
        return page(
            request,
            "view_together.html.j2",
            sides=chosen,
            questions=together(chosen),
            now=datetime.now(UTC),
            scale=limit_scale,
            still=self._still,
        )

    def _opened(self) -> list[tuple[ViewedRun, Links, Datasheet | None, str]]:
        """Every run with its links, its datasheet and what keeps that from being read; newest first."""
        runs = [(run, self._links(number), *_sheet(run)) for number, run in enumerate(self.runs)]
        now = "9"  # a run that goes on is newer than every date
        return sorted(runs, key=lambda run: (run[2] and run[2].facts.finished) or now, reverse=True)

    def _series(self) -> list[JudgeSeries]:
        return series_of((links.run, run.path, sheet) for run, links, sheet, _ in self._opened())

    def sheet(self, request: Request) -> Response:
        run, links = self._run(request)
        published = run.published
        if published is None:
            return self._page(request, "view_running.html.j2", run, links, **_progress(run))
        written, text = self._sheets.get(links.run, (0, ""))
        if written != published.written:
            text = html.render(
                published.sheet,
                calls_of=links.behind,
                calls_where=lambda where: links.calls(CallFilter(**where)),
                calls_on=lambda judge, stimulus: links.calls(CallFilter(judge=judge, stimulus=stimulus)),
                home="/",
                pages=(("Datasheet", links.sheet()), ("Calls", links.calls()), ("Map", links.map)),
                chart_file=links.chart_file,
                calls_remedied=None if self._still else links.remedied,
            )
            self._sheets[links.run] = published.written, text
        return HTMLResponse(text, headers={"content-security-policy": page_policy()})

    def calls(self, request: Request, run: ViewedRun, links: Links) -> Response:
        if self._still:
            return self._page(request, "view_bundle.html.j2", run, links)
        loaded, wanted = run.load(), CallFilter.of(request.query_params)
        remedy = request.query_params.get("remedy", "") if wanted.figure else ""
        links = replace(links, remedy=remedy)
        with_remedy = remedied_calls(run, loaded, run.figure(wanted.figure), remedy) if remedy else None
        keep = passing(run, loaded, wanted)
        # Calls behind the figure that the list is of, whatever else it is filtered by.
        behind = calls_behind(run.figure(wanted.figure), loaded.index).sum() if wanted.figure else 0
        ended = of_outcome(run, loaded, wanted)
        counted = counted_calls(run.figure(wanted.figure), loaded.index) if wanted.figure else None
        rows = sort_rows(run, loaded, np.flatnonzero(keep & ended), wanted.sort)
        number, last = page_number(request, len(rows), self._page_size)
        chosen = rows[(number - 1) * self._page_size : number * self._page_size].tolist()
        return self._page(
            request,
            "view_calls.html.j2",
            run,
            links,
            wanted=wanted,
            with_remedy=with_remedy,
            figure=figure_sentence(run.figure(wanted.figure), int(behind)) if wanted.figure else None,
            index=loaded.index,
            counts=loaded.index.counts(keep),
            outcomes=loaded.index.possible_outcomes,
            all_count=loaded.index.count(keep),
            chosen=loaded.index.count(keep & ended),
            counted_count=None if counted is None else loaded.index.count(keep & counted),
            total=len(rows),
            number=number,
            last=last,
            details=viewed_run.details(run, loaded, chosen, explained=False),
            chosen_rows=chosen,
            reference_label=reference_label,
        )

    def call(self, request: Request, run: ViewedRun, links: Links) -> Response:
        loaded = run.load()
        detail = viewed_run.call_detail(run, loaded, request.path_params["name"])
        if detail is None:
            return error_page(404, "There is no such call in this run.")
        wanted, row = CallFilter.of(request.query_params), loaded.index.row[detail.id]
        rows = passing_rows(run, loaded, wanted)
        if row not in rows:
            wanted, rows = CallFilter(), passing_rows(run, loaded, CallFilter())
        place = rows.index(row)
        return self._page(
            request,
            "view_call.html.j2",
            run,
            links,
            call=detail,
            messages=run_messages(detail.observation.stimulus),
            reference_label=reference_label,
            wanted=wanted,
            place=place,
            among=len(rows),
            list_page=place // self._page_size + 1,
            before=loaded.index.ids[rows[place - 1]] if place else None,
            after=loaded.index.ids[rows[place + 1]] if place + 1 < len(rows) else None,
        )

    def stimulus(self, request: Request, run: ViewedRun, links: Links) -> Response:
        loaded, name = run.load(), request.query_params.get("id", "")
        rows = loaded.index.of_stimulus(name).tolist()
        if not rows:
            return error_page(404, "There is no such stimulus in this run.")
        calls = viewed_run.details(run, loaded, rows, explained=False)
        shown = calls[0].observation.stimulus
        family = [s for s in loaded.index.calls.stimuli_seen if s.lineage.parent == shown.lineage.parent]
        arms: dict[tuple[str, str], list[Any]] = {}
        baselines = set(filter(loaded.index.is_baseline, loaded.index.judges))
        for row, each in zip(rows, calls, strict=True):
            arm = arms.setdefault((each.observation.judge, each.observation.protocol), [])
            arm.append(each if arm else replace(each, why=viewed_run.reason_of_count(loaded, row)))
        return self._page(
            request,
            "view_stimulus.html.j2",
            run,
            links,
            shown_stimulus=shown,
            messages=run_messages(shown),
            arms=dict(sorted(arms.items(), key=lambda arm: arm[0][0] in baselines)),
            baselines=baselines,
            columns=ORDER_TITLES if len(shown.texts) == 2 else (("", "answers"),),
            family=family,
            reference_label=reference_label,
        )

    def map(self, request: Request, run: ViewedRun, links: Links) -> Response:
        index = run.load().index
        return self._page(request, "view_map.html.j2", run, links, table=accuracy_map(index), steps=STEPS)

    # What scripts and people download

    def progress(self, request: Request) -> Response:
        run, _ = self._run(request)
        return JSONResponse(_progress(run))

    def chart_file(self, request: Request) -> Response:
        run, _ = self._run(request)
        name = request.path_params["name"]
        published = run.published
        every: Sequence[Chart] = ()
        if published is not None:
            if self._drawn is None or self._drawn[0] is not published:
                self._drawn = published, charts(summarise(published.sheet))
            every = self._drawn[1]
        wanted = next((chart for chart in every if chart.id == name and chart.panels), None)
        if wanted is None:
            return error_page(404, "There is no such figure on this datasheet.")
        text = replace_lone_surrogates(chart_svg(wanted))
        return download(f"{wanted.id}.svg", [text], "image/svg+xml")

    def files(self, request: Request) -> Response:
        run, _ = self._run(request)
        make = FILES.get(request.path_params["name"])
        if make is None:
            return error_page(404, "There is no such file: calls.csv, calls.json and datasheet.json are.")
        answer = make(run, CallFilter.of(request.query_params))
        name = f"{run.path.name}-{request.path_params['name']}".encode("ascii", "replace").decode()
        safe = "".join(sign if sign.isalnum() or sign in "-._" else "_" for sign in name)
        answer.headers["content-disposition"] = f'attachment; filename="{safe}"'
        return answer


def _sides(*rows: OverviewRow) -> str:
    return urlencode([("side", row.side) for row in rows])


def _spoken(row: OverviewRow) -> str:
    return f"{row.name} ({row.run.path.name})"


def _gone(run: ViewedRun) -> str:
    return f"{run.path}: the folder is gone; restore it."


def _sheet(run: ViewedRun) -> tuple[Datasheet | None, str]:
    """The datasheet, and what keeps it from being read: the overview tells of the others all the same."""
    try:
        return run.sheet, "" if run.path.is_dir() else _gone(run)
    except SteelyardError as error:
        return None, str(error)


def _progress(run: ViewedRun) -> dict[str, Any]:
    if run.ready:
        return {"answered": run.answered, "planned": run.load().planned, "opening": False}
    going_on = run.sheet is None or bool(run.sheet.run.get("partial"))
    if going_on:
        run.open()
    return {"answered": None, "planned": None, "opening": going_on}
