"""A configuration of the Judge Reliability Harness turned into a study file, with notes on what is left out.

Shape: `src/schemas` and `inputs/configs` of the harness at commit 2e1a733.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import ConfigError

VERBOSITY = ("verbosity_bias_long", "verbosity_bias_short")
PROBES: Mapping[str, tuple[str, ...]] = {
    **{
        name: (name,)
        for name in (
            *("label_flip", "format_invariance_1", "format_invariance_2", "format_invariance_3"),
            *("semantic_paraphrase", "answer_ambiguity", "stochastic_stability", "synthetic_ordinal"),
            *("agent_perturbation", "agent_positives", *VERBOSITY),
        )
    },
    "verbosity_bias": VERBOSITY,
}
COLUMNS = {"original_idx": "id", "request": "request", "response": "response", "expected": "label"}
PREPROCESSORS = {
    "drop_tool_messages": "drop_tool_messages",
    "drop_reasoning_traces": "drop_reasoning",
    "strip_tool_call_outputs": "strip_tool_outputs",
    "keep_assistant_comment_lines": "keep_assistant_comment_lines",
}
STAGES = {"planner": "planner", "editor": "editor", "summary": "summarizer", "verifier": "verifier"}
ORDINAL = ("single_autograder", "agent_autograder")
"""Templates whose judges give a score; those of the others answer yes or no."""
BEST_OF = "multiclass_judge"
VENDORS = {"gemini": "google", "vertex_ai": "google", "together_ai": "together", "fireworks_ai": "fireworks"}
"""Prefix of a model there, and the provider here, where they differ."""
SILENT = ("time_stamp", "get_cost_curves", "write_jsonl", "output_dir", "review_log_dir", "pass_required")
"""Keys that ask for what is always done here, or for nothing."""
NOTES = {
    "max_workers": "add --concurrency N to the command",
    "overwrite_results": "a folder is never overwritten: choose another --out",
    "test_debug_mode": "steelyard measure --dry-run makes no call",
    "metric": "every figure of the scale is computed, accuracy among them",
    "bootstrap_size": "intervals are over whole clusters",
    "bootstrap_repetitions": "intervals are over whole clusters",
    "aggregation_method": "the majority of three judges or more is always reported",
    "aggregation_reference_column": "add jury_reference: COLUMN under data",
    "output_file_format": "results.csv is always written; steelyard export DIR --xlsx writes a workbook",
    "rescore_sample_size": "the harness does not use it either",
    "trace_messages": "every prompt and reply is kept in run.db",
    "temp_increment": "temperatures rise evenly from the first to the last attempt",
    "max_summary_messages": "editing.summary_words limits the summary",
    "sampling_seed": "rows are drawn by the study's seed",
    "preprocess_columns_map": "all judges see the same stimuli: a study per map",
}
"""Key to what there is in its place."""


class _Section:
    """A mapping of the configuration; what nobody takes of it is noted."""

    def __init__(self, body: Any, where: str) -> None:
        if body is not None and not isinstance(body, Mapping):
            raise _wrong(where, body, "a mapping")
        self._body = dict(body or {})
        self._where = where

    def place(self, key: str) -> str:
        return f"{self._where}.{key}".lstrip(".")

    def take(self, key: str) -> Any:
        return self._body.pop(key, None)

    def take_number(self, key: str) -> int | None:
        value = self.take(key)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        if isinstance(value, str) and value.isdecimal():
            return int(value)
        raise _wrong(self.place(key), value, "a whole number")

    def take_list(self, key: str) -> list[Any]:
        value = self.take(key)
        if value is None or isinstance(value, (str, list)):
            return [value] if isinstance(value, str) else list(value or ())
        raise _wrong(self.place(key), value, "a list")

    def section(self, key: str) -> _Section:
        return _Section(self.take(key), self.place(key))

    def left_out_notes(self) -> Iterator[str]:
        for key, value in self._body.items():
            if key not in SILENT and value not in (None, {}, [], False):
                instead = NOTES.get(key, "it has no counterpart")
                yield f"{self.place(key)}: {value!r} is left out; {instead}"


def _wrong(where: str, found: Any, expected: str) -> ConfigError:
    place = f"{where}: " if where else ""
    return ConfigError(f"{place}found {found!r}, expected {expected}; correct the configuration.")


def convert_config(config: Any, folder: Path, base: Path) -> tuple[dict[str, Any], list[str]]:
    """The study of a configuration in `folder`, with paths from `base`, and what it does not carry over."""
    whole = _Section(config, "")
    admin = whole.section("admin")
    module = admin.take("module_name")
    if not isinstance(module, str):
        raise ConfigError(
            "found no admin.module_name, expected a configuration of the Judge Reliability Harness; "
            "a study file needs no conversion."
        )
    notes: list[str] = []
    dataset, perturbation, evaluation = (
        admin.section(f"{part}_config") for part in ("dataset", "perturbation", "evaluation")
    )
    synthetic, stability = (
        whole.section("synthetic_data_params"),
        whole.section("test_stochastic_stability_config"),
    )
    agents = whole.section("test_agent_perturbation_config")

    def find(name: Any, *places: str) -> str:
        return _find(str(name), folder, base, (f"inputs/data/{module}", f"data/{module}", *places), notes)

    tests = [str(name) for name in perturbation.take_list("tests_to_run")]
    judged = [str(name) for name in evaluation.take_list("tests_to_evaluate")] or tests
    if left := sorted(set(judged) ^ set(tests)):
        notes.append(f"tests_to_run and tests_to_evaluate differ in {', '.join(left)}: all are measured")
    tests = list(dict.fromkeys((*tests, *judged)))
    of_agents = any(name.startswith("agent_") for name in tests)
    template = str(evaluation.take("template"))
    study: dict[str, Any] = {
        "name": module,
        "judges": list(_judges(evaluation, template, lambda name: _template(name, folder, base), notes)),
        "task": _task(dataset, agents if of_agents else None, template, find),
        "data": _data(dataset, perturbation, agents if of_agents else None, find, notes),
    }
    seed, sample = synthetic.take_number("seed"), synthetic.take_number("sample_num_from_orig")
    sample = (agents.take_number("sample_num_from_orig") if of_agents else None) or sample
    study |= {"seed": seed} if seed is not None else {}
    study["data"] |= {"sample": sample} if sample else {}
    if dataset.take("use_original_data_as_expected"):
        study["data"]["reference"] = {"judge": study["judges"][0]["name"]}
        study["data"]["columns"].pop("label", None)
    study["probes"] = list(_probes(tests, synthetic, stability, notes))
    study |= _roles(synthetic)
    study |= _editing(agents, notes) if of_agents else {}
    study |= {"review": True} if perturbation.take("use_HITL_process") else {}
    parts = [admin, dataset, perturbation, evaluation, synthetic, stability, whole]
    for part in [*parts, *([agents] if of_agents else [])]:
        notes += part.left_out_notes()
    return study, notes


def _find(name: str, folder: Path, base: Path, places: tuple[str, ...], notes: list[str]) -> str:
    """A file of the configuration, as seen from where the study file will be."""
    roots = [folder, *folder.resolve().parents[:3], Path()]
    for root in roots:
        for place in ("", *places):
            if (root / place / name).is_file():
                return os.path.relpath(root / place / name, base)
    notes.append(f"{name}: not found near the configuration; correct the path in the study file")
    return name


def _template(name: str, folder: Path, base: Path) -> str | None:
    for root in (folder, *folder.resolve().parents[:3], Path()):
        path = root / "prompts" / "templates" / "judge" / f"{name}.md"
        if path.is_file():
            return os.path.relpath(path, base)
    return None


def _model(name: Any) -> str:
    vendor, slash, model = str(name).partition("/")
    return f"{VENDORS.get(vendor, vendor)}/{model}" if slash else "/".join(("openai", vendor))


def _judges(
    evaluation: _Section, template: str, find: Callable[[str], str | None], notes: list[str]
) -> Iterator[dict[str, Any]]:
    model, given = evaluation.take("autograder_model_name"), evaluation.take_list("judges")
    settings = evaluation.section("autograder_model_config")
    decoding = {name: settings.take(name) for name in ("temperature", "max_tokens")}
    decoding = {name: value for name, value in decoding.items() if value is not None}
    for number, each in enumerate(given or [{"name": _model(model), "model": model}]):
        named = each.get("name") if isinstance(each, Mapping) else number
        one = _Section(each, f"judges.{named}")
        words = str(one.take("template") or template)
        judge = {"name": str(one.take("name")), "model": _model(one.take("model")), **decoding}
        if words == BEST_OF:
            judge["reader"] = {"json": "score"}
            notes.append(
                f"template {words}: give the responses as a list (columns: {{responses: COLUMN}}) and their "
                "number as the scale (best-of-4)"
            )
        if (path := find(words)) is not None:
            judge["prompt"] = path
        else:
            notes.append(f"template {words}: not found near the configuration; the built-in prompt is used")
        notes += one.left_out_notes()
        yield judge


def _task(
    dataset: _Section, agents: _Section | None, template: str, find: Callable[..., str]
) -> dict[str, Any]:
    paths, params = dataset.section("default_params_path"), dataset.section("default_params")
    low, high = (
        params.take(f"{end}_score") or params.take(f"{short}_score")
        for end, short in (("lowest", "min"), ("highest", "max"))
    )
    ordinal = template in ORDINAL and low is not None and high is not None
    task: dict[str, Any] = {"scale": f"{low}-{high}" if ordinal else "binary"}
    instruction, rubric = paths.take("instruction"), paths.take("rubric")
    task |= {"instruction": find(instruction)} if instruction else {}
    if agents is None:
        return task | ({"rubric": find(rubric)} if rubric else {})
    rubrics, targets = agents.take("rubric_path") or rubric, agents.take_list("target_rubric_ids")
    task |= {"rubrics": find(rubrics)} if rubrics else {}
    task |= {"target_rubric_ids": targets} if targets else {}
    # The harness counts 1 as a violation.
    return task if ordinal else task | {"failing": 1}


def _data(
    dataset: _Section,
    perturbation: _Section,
    agents: _Section | None,
    find: Callable[..., str],
    notes: list[str],
) -> dict[str, Any]:
    name, columns = dataset.take("dataset_name"), perturbation.section("preprocess_columns_map")
    if agents is not None:
        steps = (agents.take_list(f"transcript_preprocessor{ending}") for ending in ("s", ""))
        prepared = [_preprocessor(str(step)) for step in next(filter(None, steps), [])]
        data = {"path": find(agents.take("input_log_path") or name), "columns": {}}
        return data | ({"preprocess": prepared} if prepared else {})
    taken = {here: columns.take(there) for there, here in COLUMNS.items()}
    notes += columns.left_out_notes()
    return {"path": find(name), "columns": {part: column for part, column in taken.items() if column}}


def _preprocessor(path: str) -> str:
    """A step of the harness by its name here; one of the user's own by its dotted path."""
    own = path.startswith("agent_helpers.") or "." not in path
    return PREPROCESSORS.get(path.rpartition(".")[2], path) if own else path


def _probes(
    tests: list[str], synthetic: _Section, stability: _Section, notes: list[str]
) -> Iterator[str | dict[str, Any]]:
    texts = synthetic.take_number("target_num_per_bucket")
    seeds, repeats = stability.take_number("number_of_seeds"), stability.take_number("repetitions")
    stability.take("seed")
    for test in tests:
        for name in PROBES.get(test, ()):
            if name == "synthetic_ordinal" and texts:
                yield {name: {"texts": texts}}
            elif name == "stochastic_stability" and seeds:
                yield {name: {"replicates": max(2, seeds * (repeats or 1))}}
            else:
                yield name
        if test not in PROBES:
            notes.append(f"test {test}: there is no such probe; it is left out")


def _roles(synthetic: _Section) -> dict[str, Any]:
    writer, checker = (synthetic.take(f"{what}_model_name") for what in ("generation", "validation"))
    taken = {
        "max_tokens": synthetic.take("max_tokens_generation"),
        "temperature": synthetic.take("initial_temp"),
        "temperature_cap": synthetic.take("max_temp_cap"),
        "attempts": synthetic.take("max_consecutive_failures"),
        "exemplars": synthetic.take("num_seed_examples_per_generation"),
    }
    similar, filtered = synthetic.take("similarity_threshold"), synthetic.take("use_similarity_filter")
    taken["similarity"] = "off" if filtered is False else similar
    limit = synthetic.take("max_tokens_validation")
    author = {"model": _model(writer), **{key: value for key, value in taken.items() if value is not None}}
    validator = {"model": _model(checker or writer), **({"max_tokens": limit} if limit else {})}
    return {"author": author, "validator": validator} if writer else {}


def _editing(agents: _Section, notes: list[str]) -> dict[str, Any]:
    rounds = agents.take_number("max_edit_rounds")
    editing: dict[str, Any] = {"steps": rounds} if rounds else {}
    for there, here in STAGES.items():
        stage = agents.section(there)
        model, temperature = stage.take("model"), stage.take("temperature")
        if model is not None:
            role = {"model": _model(model)} | ({} if temperature is None else {"temperature": temperature})
            editing[here] = role
        notes += stage.left_out_notes()
    agents.section("output")
    return {"editing": editing} if editing else {}
