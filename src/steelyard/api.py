"""The Python API: what the commands do, as functions for notebooks and scripts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias

from steelyard.authoring.open_study import (
    GenerationPlan,
    open_study,
    plan_before_judges,
    with_reference_labels,
)
from steelyard.commands.compare import Target, compare_targets
from steelyard.commands.gate.gate import gate as gate_folder
from steelyard.commands.gate.policy import PolicyLike
from steelyard.commands.gate.ruling import Ruling
from steelyard.commands.measure import measure as run
from steelyard.commands.remedied import RemediedJudge, remedied_judge
from steelyard.commands.report import current_datasheet, publish
from steelyard.core.text import pluralize
from steelyard.datasheet.comparison.sheet import ComparisonSheet
from steelyard.datasheet.render.data_files import NotebookSheet
from steelyard.errors import ConfigError
from steelyard.metrics.findings import MARGIN
from steelyard.providers.function.frameworks.adapter import adapter_for
from steelyard.providers.function.python_function import judge_model
from steelyard.run_folder.resume import calls_made, with_found_readers
from steelyard.run_folder.run_folder import RunFolder
from steelyard.runner.costs import PlanRow, plan_rows
from steelyard.runner.limits import RunLimits
from steelyard.runner.session import is_watched, progress_line
from steelyard.study.planner import make_plan
from steelyard.study.study import Study
from steelyard.study.study_files import consent_to
from steelyard.trust.trust_file import read_trust
from steelyard.trust.trusted import AskedJudge, TrustedJudge

JudgeLike: TypeAlias = str | Mapping[str, Any] | Callable[..., Any]
"""`provider/model?key=value`, a mapping as in a study file, or a function; `model` may be one too."""
ProbeLike: TypeAlias = str | Mapping[str, Mapping[str, Any]]
"""Name of a probe or suite, or a mapping from its name to its options."""
RoleLike: TypeAlias = str | Mapping[str, Any]
"""Model that writes or confirms texts: `provider/model`, or a mapping as in a study file."""
ConsentLike: TypeAlias = bool | str | Collection[str]
"""True, or one or both of "files" and "keys"."""
Profile: TypeAlias = Literal["quick", "standard", "full"]
Place: TypeAlias = str | PathLike[str]
"""A file or folder; a datasheet stands for the folder of its run."""


@dataclass(frozen=True)
class CostEstimate:
    """What a measurement will take; only what its folder has not answered yet counts."""

    rows: tuple[PlanRow, ...]
    """One per judge and probe; baselines cost nothing and are left out."""
    folder: Path
    """Where the run would lie."""

    @property
    def calls(self) -> int:
        """All calls, those of free judges too."""
        return sum(row.calls for row in self.rows)

    @property
    def dollars(self) -> float | None:
        """None where the price of a judge is not known."""
        prices = [row.dollars for row in self.rows]
        return None if None in prices else sum(price for price in prices if price is not None)

    def __repr__(self) -> str:
        price = "price unknown" if self.dollars is None else f"${self.dollars:.2f}"
        return f"<CostEstimate: {pluralize(self.calls, 'call')}, {price}, {self.folder}>"


def measure(
    *judges: JudgeLike,
    study: Place | None = None,
    out: Place | None = None,
    profile: Profile | None = None,
    probes: Sequence[ProbeLike] | None = None,
    task: Mapping[str, Any] | None = None,
    data: Place | Mapping[str, Any] | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    name: str | None = None,
    author: RoleLike | None = None,
    validator: RoleLike | None = None,
    editing: Mapping[str, Any] | None = None,
    review: bool | None = None,
    limits: RunLimits | Mapping[str, Any] | None = None,
    progress: bool | None = None,
    consent: ConsentLike = (),
) -> NotebookSheet:
    """Measure judges and return the datasheet; a run that was cut resumes.

    A judge is `provider/model`, a mapping as in a study file, or a plain or async function:
    `(request, first, second)` returns "1", "2" or "tie", `(request, response)` returns a score, and
    `(request, responses)` gets a list and returns the number of the best one.
    Arguments from `profile` to `review` are the keys of a study file and override those of `study`.
    `data` is a file, or a mapping with `path` and `columns`. `progress` prints a line of progress; by
    default on a terminal and in a notebook. If the run stops early, `SteelyardError` is raised and every
    reply is kept. `consent` is what the file `study` may do beyond its folder: read other "files", send
    "keys" to addresses that are not the vendor's; True is both. Arguments need none.
    """
    built, folder, generation = _open_study(judges, study, out, locals())
    within = RunLimits.of(limits)
    with progress_line(is_watched() if progress is None else progress) as line:
        built = with_reference_labels(built, folder, within, line)
        if generation is not None:
            built, authored = generation.generate(built, folder, within, line)
            authored.require_review(folder)
        measured = run(built, folder, within, line)
    return NotebookSheet.for_notebook(measured.require(), folder.path)


def plan(
    *judges: JudgeLike,
    study: Place | None = None,
    out: Place | None = None,
    profile: Profile | None = None,
    probes: Sequence[ProbeLike] | None = None,
    task: Mapping[str, Any] | None = None,
    data: Place | Mapping[str, Any] | None = None,
    replicates: int | None = None,
    seed: int | None = None,
    name: str | None = None,
    author: RoleLike | None = None,
    validator: RoleLike | None = None,
    editing: Mapping[str, Any] | None = None,
    review: bool | None = None,
    consent: ConsentLike = (),
) -> CostEstimate:
    """Count the calls, tokens and dollars that `measure` with the same arguments will take; makes no call."""
    built, folder, generation = _open_study(judges, study, out, locals(), calls=False)
    built, before = plan_before_judges(built, folder, generation)
    rows = plan_rows(make_plan(built).asked(set.union(*calls_made(folder))))
    return CostEstimate((*before, *(row for row in rows if row.judge not in built.baselines)), folder.path)


def report(folder: Place) -> NotebookSheet:
    """Every figure of a run folder or an import computed anew, its files written again; no calls."""
    published = publish(Path(folder), anew=True)
    if published.unwritten is not None:
        raise published.unwritten
    return NotebookSheet.for_notebook(published.datasheet, Path(folder))


def load(folder: Place) -> NotebookSheet:
    """The datasheet of a run folder or an import as published; computed where files have changed since."""
    return NotebookSheet.for_notebook(current_datasheet(Path(folder)), Path(folder))


def compare(first: Place, second: Place, margin: float = MARGIN) -> ComparisonSheet:
    """Two judges on the stimuli that both were shown, each `DIR` or `DIR:JUDGE`; no calls."""
    return compare_targets(Target.parse(fspath(first)), Target.parse(fspath(second)), margin)


def gate(
    folder: Place,
    policy: PolicyLike = "default",
    judges: str | Sequence[str] = (),
    reference: Place | None = None,
    margin: float = MARGIN,
) -> Ruling:
    """Whether the judges of a run folder may be used; writes the certificate.

    `policy` is a file, a mapping of rules, or one that is shipped: smoke, default, strict.
    """
    earlier = None if reference is None else Path(reference)
    named = [judges] if isinstance(judges, str) else judges
    ruling, _ = gate_folder(Path(folder), policy, datetime.now(UTC), named, earlier, margin)
    return ruling


def remedied(
    judge: JudgeLike | None = None,
    *,
    consensus: str | None = None,
    majority: int | None = None,
    mean: int | None = None,
    jury: Sequence[JudgeLike] | None = None,
    scale: str = "pairwise",
    rubric: str | Path = "",
    certificate: Place | None = None,
    attempts: int = 3,
) -> RemediedJudge:
    """A judge with its remedy as a function: `consensus="orders"`, `majority=3`, `mean=3`, or a `jury`.

    `consensus="average"` averages both orders, where `"orders"` calls a tie for every disagreement.

    It takes `(request, response)` or `(request, first, second)` and raises where there is no verdict. With a
    `certificate`, a judge that has changed since it was certified is refused here: at import, in CI.
    """
    kinds = {"consensus": consensus, "majority": majority, "mean": mean, "jury": jury}
    remedy = {kind: value for kind, value in kinds.items() if value is not None}
    if judge is not None and "jury" not in remedy:
        given: JudgeLike = {**remedy, "of": judge} if remedy else judge
    elif judge is None and list(remedy) == ["jury"]:
        given = remedy
    else:
        raise ConfigError("remedied: expected a judge with at most one remedy, or a jury; correct the call.")
    place = None if certificate is None else Path(certificate)
    return remedied_judge(_judge_spec(given), scale, rubric, place, attempts)


def trusted(
    judge: JudgeLike | RemediedJudge | Mapping[str, JudgeLike | RemediedJudge],
    trust: Place,
    *,
    rubric: str | Path = "",
    attempts: int = 3,
) -> TrustedJudge:
    """A judge that answers where the promise of `trust fit` covers it, and returns `Escalate` elsewhere.

    `judge` is one that `remedied` made, a function, `provider/model` or a mapping as in a study file; of a
    cascade a mapping from each judge's name to one of these. A function whose signal is a column returns its
    answer and its signal. A judge that has changed since, and a promise that has expired, are refused.
    """
    path = Path(trust)
    promise = read_trust(path)
    promise.require_tied(str(path))
    several = isinstance(judge, Mapping) and "model" not in judge and not _REMEDIES & judge.keys()
    if isinstance(judge, Mapping) and several:
        each = {name: _asked_judge(one, promise.scale, rubric, attempts) for name, one in judge.items()}
        return TrustedJudge(path, each)
    return TrustedJudge(path, _asked_judge(judge, promise.scale, rubric, attempts))


_REMEDIES = frozenset({"consensus", "majority", "mean", "jury", "of"})


def _asked_judge(judge: Any, scale: str | None, rubric: str | Path, attempts: int) -> AskedJudge:
    if isinstance(judge, RemediedJudge):
        return AskedJudge(judge)
    if scale is None:
        raise ConfigError(
            "trusted: the promise names no scale, expected the one that its judges are asked on; fit it "
            "again with --scale."
        )
    asked = remedied_judge(_judge_spec(judge), scale, rubric, None, attempts)
    return AskedJudge(asked, judge if callable(judge) else None)


def _as_yaml(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_yaml(inner) for key, inner in value.items()}
    if isinstance(value, PathLike):
        return fspath(value)
    return [_as_yaml(inner) for inner in value] if isinstance(value, (list, tuple)) else value


STUDY_KEYS = (
    *("profile", "probes", "task", "data", "replicates", "seed", "name", "author", "validator", "editing"),
    "review",
)
"""Arguments of `measure` and `plan` that are keys of a study file."""


def _open_study(
    judges: tuple[JudgeLike, ...],
    study: Place | None,
    out: Place | None,
    arguments: Mapping[str, Any],
    *,
    calls: bool = True,
) -> tuple[Study, RunFolder, GenerationPlan | None]:
    """The study that the arguments describe, its folder, and who writes for it."""
    path = None if study is None else Path(study)
    keys = {key: _as_yaml(arguments[key]) for key in STUDY_KEYS if arguments[key] is not None}
    if isinstance(keys.get("data"), str):
        keys["data"] = {"path": keys["data"]}
    named = {"judges": [_judge_spec(judge) for judge in judges]} if judges else {}
    consent = consent_to(arguments["consent"])
    opened = open_study(path, {**keys, **named}, "arguments", consent, calls=calls)
    folder = RunFolder(Path(out)) if out else RunFolder.default(opened.study)
    return with_found_readers(opened.study, folder), folder, opened.generation


def _judge_spec(judge: JudgeLike) -> str | dict[str, Any]:
    """A judge as a study file has it; a function by its address."""
    if isinstance(judge, str):
        return judge
    body: dict[str, Any] = dict(judge) if isinstance(judge, Mapping) else {"model": judge}
    if "of" in body:
        body["of"] = _judge_spec(body["of"])
    if isinstance(body.get("jury"), (list, tuple)):
        body["jury"] = [_judge_spec(member) for member in body["jury"]]
    function: Any = body.get("model")
    if not callable(function) and adapter_for(function) is None:
        if isinstance(judge, Mapping):
            return body
        kind = type(judge).__name__
        raise ConfigError(f"judges: found {kind}, expected 'provider/model', a mapping, or a function.")
    own = getattr(function, "__name__", type(function).__name__).strip("<>")
    name = str(body.get("name") or own)
    return {**body, "model": judge_model(function, name), "name": name}
