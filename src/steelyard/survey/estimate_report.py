"""An estimate in words: sentence, tables, page, methods paragraph."""

from __future__ import annotations

from pathlib import Path

from steelyard.core.text import percent, pluralize
from steelyard.datasheet.render.report import (
    JUDGE,
    LABELS,
    PEOPLE,
    KeyEntry,
    Plot,
    Report,
    ReportTable,
    first_of,
    interval_meaning,
    judge_row,
    plot_domain,
    plot_row,
    with_limits,
)
from steelyard.estimation.designs import LabelDesign
from steelyard.estimation.frame import Figure
from steelyard.importing.ratings import RatingsTable
from steelyard.run_folder.published_files import estimate_origin
from steelyard.survey.estimate import STOPPED, EstimateReport, estimate
from steelyard.survey.judged_items import MAJORITY, MEAN, Subject
from steelyard.survey.options import EstimateOptions

AXES = {"share": "passed, %", "wins": "wins, %", "difference": "difference", "mean": "mean score"}
DRAWN = {
    LabelDesign.RANDOM: "drawn at random",
    LabelDesign.BY_VERDICT: "drawn at random within each verdict of the judge",
    LabelDesign.STRATA: "drawn at random within each stratum",
    LabelDesign.ODDS: "drawn with recorded odds",
    LabelDesign.ELSEWHERE: "taken from other items",
}
NAMED = 6
UNNAMED = {"people", "label", "human"}
"""Names of raters that name nobody."""
ESTIMATORS = {
    "greg": "the regression estimator (GREG) with finite population correction",
    "ppi++": "prediction-powered inference with a tuned weight (PPI++)",
    "post_stratified": "post-stratification on the judge's verdicts",
    "post_stratified_mover": "post-stratification on the judge's verdicts with score limits joined by MOVER",
    "labels_t": "the mean of the labels",
    "at_every_look": "the corrected figure with a confidence sequence, since labelling could stop early",
    "rogan_gladen": "Rogan and Gladen's correction with the interval of Lang and Reiczigel",
}


def estimate_report(table: RatingsTable, options: EstimateOptions) -> Report:
    ratings = options.ratings
    found = estimate(
        table,
        Subject.of(ratings, system=options.system, versus=options.versus, votes=options.votes),
        None if options.design is None else LabelDesign(options.design),
        population=options.of == "population",
        by_stratum=options.by is not None,
        confidence=options.confidence,
    )
    scale = 100.0 if found.is_share else 1.0
    named = [("what people would say", found.corrected, PEOPLE, "circle")]
    if found.labels_only is not None:
        named.append(("labels alone", found.labels_only, LABELS, "circle"))
    named.append(("judge alone", found.judge_only, JUDGE, "diamond"))
    rows = [
        plot_row(name, figure, role, spelled(figure, found), shape=shape, scale=scale)
        for name, figure, role, shape in named
    ]
    for stratum in found.strata:
        if stratum.corrected is not None:
            text = spelled(stratum.corrected, found)
            rows.append(plot_row(stratum.name, stratum.corrected, PEOPLE, text, scale=scale))
            rows.append(judge_row(stratum.name, scale * stratum.judge))
    level = percent(found.confidence)
    tables = [ReportTable("Figures", ("figure", f"value [{level}]", "rests on"), figure_rows(found))]
    if found.strata:
        counts = "stratum", "items", "labels", "judge alone"
        titles = *counts, f"corrected [{level}]", "p of no difference"
        tables.append(ReportTable("Strata", titles, _stratum_rows(found)))
    folder = ratings.file if ratings.file.is_dir() else None
    return Report(
        kind="estimate",
        title=found.system or Path(found.source).name,
        lead=sentence(found),
        facts=[
            ("judge", found.judge),
            ("people", first_of(found.people, NAMED, " …")),
            ("items", f"{found.items:,}"),
            ("labels", f"{found.labels:,}, {DRAWN[found.design]}"),
        ],
        plot=Plot(
            "The judge's figure and the one people would give",
            f"Bars are {level} intervals. The judge's own figure counts its verdicts; where it lies outside "
            "the bar, people would say something else.",
            rows,
            AXES[found.quantity],
            plot_domain(rows, ends=(0.0, 100.0) if found.is_share else None),
            key=(
                KeyEntry("●", PEOPLE, "judge corrected by people's labels"),
                KeyEntry("◇", JUDGE, "judge alone"),
            ),
            label="Corrected, labels alone, judge alone",
            signed=found.quantity == "difference",
        ),
        tables=tables,
        notes=notes(found),
        meanings=(
            ("corrected", "What people would say of all items; the figure to publish."),
            ("judge alone", "The mean of the verdicts; of these items a count, so it has no interval."),
            ("labels alone", "What the labels say without the judge; undefined where the draw followed it."),
            interval_meaning(found.confidence),
            ("for a methods section", methods(found)),
        ),
        body=found.to_json() | ({} if folder is None else estimate_origin(found.to_json(), folder)),
        paragraph=methods(found) if options.methods else "",
    )


def number(value: float, report: EstimateReport) -> str:
    """A share in percent, a difference of shares in points, a mean as it is."""
    if report.is_share:
        return f"{100 * value:.1f} %"
    return f"{value:+.3f}" if report.quantity == "difference" else f"{value:.3f}"


def spelled(figure: Figure, report: EstimateReport) -> str:
    return with_limits(figure, lambda value: number(value, report))


def sentence(report: EstimateReport) -> str:
    """The claim that the labels carry."""
    people, judge = spelled(report.corrected, report), spelled(report.judge_only, report)
    about = f"these {report.items:,}" if not report.population else "the population behind these"
    alone = f"the judge alone says {judge}."
    match report.quantity:
        case "share":
            return f"Of {about} answers people would pass {people}; {alone}"
        case "wins":
            other = f" over {report.versus}" if report.versus else ""
            wins = f"{report.system} {people} of the wins{other}"
            return f"Of {about} comparisons people would give {wins}; {alone}"
        case "difference":
            return (
                f"Over {about} items people would put {report.system} {people} above {report.versus}; {alone}"
            )
    return f"To {about} answers people would give {people} on average; {alone}"


def figure_rows(report: EstimateReport) -> list[tuple[str, str, str]]:
    """Name, figure and what it rests on."""
    labels = pluralize(report.labels, "label")
    items = pluralize(report.items, "verdict")
    absent = {
        LabelDesign.BY_VERDICT: "undefined: the draw followed the verdicts",
        LabelDesign.STRATA: "undefined: the draw followed the strata",
        LabelDesign.ELSEWHERE: "undefined: the labels are of other items",
    }
    alone = report.labels_only
    if report.corrected.method == "at_every_look":
        absent = dict.fromkeys(LabelDesign, "undefined: labelling may have stopped early")
    return [
        ("corrected", spelled(report.corrected, report), f"{items}, {labels}"),
        ("judge alone", spelled(report.judge_only, report), items),
        ("labels alone", absent[report.design] if alone is None else spelled(alone, report), labels),
    ]


def _stratum_rows(report: EstimateReport) -> list[tuple[str, ...]]:
    made: list[tuple[str, ...]] = []
    for each in report.strata:
        figure = "too few labels" if each.corrected is None else spelled(each.corrected, report)
        p = "" if each.p is None else "<0.001" if each.p < 0.001 else f"{each.p:.3f}"
        counts = f"{each.items:,}", f"{each.labels:,}"
        made.append((each.name, *counts, number(each.judge, report), figure, p))
    return made


def notes(report: EstimateReport) -> list[str]:
    """What else a reader needs, a sentence each."""
    assumed = [f"labels were {DRAWN[report.design]}", report.independence, report.scale_assumed]
    made = [f"Assumed: {'; '.join(filter(None, assumed))}."]
    made += _worth_note(report)
    if report.corrected.method == "labels_t":
        made.append(
            "Fewer than 10 labels differ from the most frequent one, too few to weigh the judge: it was left "
            "out."
        )
    made += [*_people_notes(report), *_agreement_note(report)]
    if report.corrected.clamped:
        made.append("The interval reached past the end of the scale and stops there.")
    if report.bounds is not None:
        low, high = (number(end, report) for end in report.bounds)
        made.append(
            f"{pluralize(report.missing_verdicts, 'item')} without a verdict: if all of them were at either "
            f"end, the limits would be {low} and {high}."
        )
    return [*made, *report.remarks]


def _worth_note(report: EstimateReport) -> list[str]:
    worth = report.worth
    if worth is None:
        return []
    weight = "" if report.weight is None else f", weight λ {report.weight:.2f}"
    said = f"Worth of the judge: ρ² {worth.rho_squared:.2f}{weight}"
    if worth.factor is None or worth.effective_labels is None:
        return [f"{said}."]
    if worth.adds_nothing:
        return [
            f"{said}; the judge adds nothing here: its interval is no narrower than that of the labels alone."
        ]
    counts = f"{pluralize(report.labels, 'label')} count as {worth.effective_labels:,.0f}"
    return [f"{said}; {counts} (factor {worth.factor:.2f})."]


def _people_notes(report: EstimateReport) -> list[str]:
    """What the label of an item is, and what of people's disagreement the interval leaves out."""
    if not report.shared_items:
        return ["Each item has one label: how other people would label it is not in the interval."]
    ways = {MEAN: "the mean of its votes", MAJORITY: "what most people said"}
    other = MAJORITY if report.votes == MEAN else MEAN
    return [
        f"The label of an item is {ways[report.votes]} (--votes {other}: {ways[other]}).",
        f"People said the same on {report.unanimous_items:,} of {pluralize(report.shared_items, 'item')} "
        "that several labelled. How other people would label is not in the interval.",
    ]


def _agreement_note(report: EstimateReport) -> list[str]:
    if report.agreement is None:
        return []
    agrees = f"The judge agrees with people on {100 * report.agreement:.1f} % of items"
    if report.worth is not None and report.agreement < 0.5 < report.worth.rho_squared:
        return [f"{agrees}: see whether its verdicts are reversed."]
    if report.quantity == "share" and report.agreement <= report.corrected.value:
        return [f"{agrees}, no more than a judge that passes everything."]
    return []


def methods(report: EstimateReport) -> str:
    """A paragraph for a model card or a paper."""
    named = first_of(report.people, NAMED, " and others")
    people = "people" if set(report.people) <= UNNAMED else f"people ({named})"
    tasks = f" in {pluralize(report.tasks, 'task')}" if report.tasks < report.items else ""
    method = report.corrected.method.removeprefix("stratified_")
    how = ESTIMATORS.get(method, method)
    parts = " in each stratum" if report.design is LabelDesign.STRATA else ""
    claim = "the population that the items were drawn from" if report.population else "these items"
    aside = [STOPPED] if STOPPED in report.remarks else []
    aside += _people_notes(report)
    return (
        f"The judge {report.judge} rated {pluralize(report.items, 'item')}{tasks}; {people} labelled "
        f"{report.labels:,}, "
        f"{DRAWN[report.design]}. We estimated what people would say of {claim} by {how}{parts}; intervals "
        f"are at {percent(report.confidence)}. {' '.join(aside)} {sentence(report)}"
    )
