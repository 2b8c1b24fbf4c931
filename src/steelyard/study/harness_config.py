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
    "verbosity_bias": VERBOSITY,
    **{
        name: (name,)
        for name in (
            *("label_flip", "format_invariance_1", "format_invariance_2", "format_invariance_3"),
            *("semantic_paraphrase", "answer_ambiguity", "stochastic_stability", "synthetic_ordinal"),
            *("agent_perturbation", "agent_positives", *VERBOSITY),
        )
    },
}
COLUMNS = {"original_idx": "id", "request": "request", "response": "response", "expected": "label"}
PREPROCESSORS = {
    "drop_tool_messages": "drop_tool_messages",
    "drop_reasoning_traces": "drop_reasoning",
    "strip_tool_call_outputs": "strip_tool_outputs",
    "keep_assistant_comment_lines": "keep_assistant_comment_lines",
}
STAGES = {"planner": "planner", "editor": "editor", "summary": "summarizer", "verifier": "verifier"}
AGENTS = ("agent_perturbation", "agent_positives")
"""Tests on runs of agents, which have a data set of their own."""
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
    "aggregation_reference_column": "a log of agents has no such column; map one in a table of runs",
    "output_file_format": "results.csv is always written; steelyard export DIR --xlsx writes a workbook",
    "rescore_sample_size": "the harness does not use it either",
    "trace_messages": "every prompt and reply is kept in run.db",
    "temp_increment": "temperatures rise evenly from the first to the last attempt",
    "max_summary_messages": "editing.summary_words limits the summary",
    "sampling_seed": "rows are drawn by the study's seed",
    "preprocess_columns_map": "judges of a study are asked the same questions: make a study per map",
    "score_targets": "the template asks for yes or no, so there are no levels",
    "system_prompt": "put its words at the head of the prompt's file",
    "autograder_default_params": "the lowest and the highest score of a template of scores are taken from it",
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

    def take_numbers(self, key: str) -> list[int]:
        """Whole numbers, as a list or as a text with commas."""
        given = self._body.get(key)
        listed = given.split(",") if isinstance(given, str) else self.take_list(key)
        self.take(key)
        try:
            return [int(str(each)) for each in listed]
        except ValueError as error:
            raise _wrong(self.place(key), given, "a list of whole numbers") from error

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


def convert_config(config: Any, folder: Path, base: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The studies of a configuration in `folder`, with paths from `base`, and what they do not carry over.

    A study has one data set, so that tests of texts and tests of agents in one configuration make two.
    """
    _module(config)
    tests, notes = _tests(config)
    kinds = {is_agents: [t for t in tests if (t in AGENTS) == is_agents] for is_agents in (False, True)}
    wanted = [is_agents for is_agents, named in kinds.items() if named] or [False]
    studies = []
    for of_agents in wanted:
        study, left = _study(config, folder, base, kinds[of_agents], of_agents, len(wanted) > 1)
        studies.append(study)
        notes += (line for line in left if line not in notes)
    return studies, notes


def _module(config: Any) -> str:
    module = _Section(config, "").section("admin").take("module_name")
    if not isinstance(module, str):
        raise ConfigError(
            "found no admin.module_name, expected a configuration of the Judge Reliability Harness; "
            "a study file needs no conversion."
        )
    return module


def _tests(config: Any) -> tuple[list[str], list[str]]:
    admin = _Section(config, "").section("admin")
    tests = [str(name) for name in admin.section("perturbation_config").take_list("tests_to_run")]
    judged = [str(name) for name in admin.section("evaluation_config").take_list("tests_to_evaluate")]
    left = sorted(set(judged or tests) ^ set(tests))
    said = f"tests_to_run and tests_to_evaluate differ in {', '.join(left)}: all are measured"
    return list(dict.fromkeys((*tests, *judged))), [said] if left else []


def _study(
    config: Any, folder: Path, base: Path, tests: list[str], of_agents: bool, mixed: bool
) -> tuple[dict[str, Any], list[str]]:
    """The study of the texts or of the agents; `mixed` says that the configuration asks for both."""
    whole, module, notes = _Section(config, ""), _module(config), list[str]()
    admin = whole.section("admin")
    admin.take("module_name")
    dataset, perturbation, evaluation = (
        admin.section(f"{part}_config") for part in ("dataset", "perturbation", "evaluation")
    )
    perturbation.take("tests_to_run")
    evaluation.take("tests_to_evaluate")
    synthetic, stability = (
        whole.section("synthetic_data_params"),
        whole.section("test_stochastic_stability_config"),
    )
    blocks = {name: whole.take(f"test_{name}_config") for name in AGENTS}
    block = next((name for name in AGENTS if name in tests and blocks[name]), AGENTS[0])
    agents = _Section(blocks[block], f"test_{block}_config")
    if set(AGENTS) <= set(tests) and all(blocks.values()):
        notes.append(
            f"test_{AGENTS[1]}_config is left out; a study edits its runs in one way, that of {block}"
        )

    def find(name: Any) -> str:
        places = ("", f"inputs/data/{module}", f"data/{module}")
        found = _near(folder, base, *(Path(place, str(name)) for place in places))
        if found is None:
            notes.append(f"{name}: not found near the configuration; correct the path in the study file")
        return found or str(name)

    def find_template(name: str) -> str | None:
        return _near(folder, base, Path("prompts", "templates", "judge", f"{name}.md"))

    template, own = str(evaluation.take("template")), agents.take("autograder_template")
    if of_agents:
        # The harness's own default, where the template that is named is one for texts.
        template = str(own or ("agent_judge" if mixed and not template.startswith("agent_") else template))
    study: dict[str, Any] = {
        "name": f"{module}-agents" if of_agents and mixed else module,
        "judges": list(_judges(evaluation, template, mixed and of_agents, find_template, notes)),
        "task": _task(dataset, agents if of_agents else None, template, mixed, find),
        "data": _data(dataset, perturbation, agents if of_agents else None, find, notes),
    }
    column = evaluation.take("aggregation_reference_column") if mixed or not of_agents else None
    study["data"] |= {"jury_reference": str(column)} if column and not of_agents else {}
    seed, sample = synthetic.take_number("seed"), synthetic.take_number("sample_num_from_orig")
    sample = (agents.take_number("sample_num_from_orig") if of_agents else None) or sample
    study |= {"seed": seed} if seed is not None else {}
    study["data"] |= {"sample": sample} if sample else {}
    if dataset.take("use_original_data_as_expected") and not (mixed and of_agents):
        study["data"]["reference"] = {"judge": study["judges"][0]["name"]}
        study["data"]["columns"].pop("label", None)
    if of_agents:
        study["probes"] = list(_agent_probes(tests, agents, study["task"]["scale"], own in ORDINAL))
    else:
        study["probes"] = list(_probes(tests, synthetic, stability, notes))
    study |= _roles(synthetic)
    study |= _editing(agents, study["probes"], find, notes) if of_agents else {}
    study |= {"review": True} if perturbation.take("use_HITL_process") else {}
    parts = [admin, dataset, perturbation, evaluation, synthetic, stability, whole]
    if mixed and of_agents:  # what only texts have is said with their study
        parts = [admin, evaluation, synthetic, whole]
    for part in [*parts, *([agents] if of_agents else [])]:
        notes += part.left_out_notes()
    return study, notes


def _near(folder: Path, base: Path, *names: Path) -> str | None:
    """A file near the configuration, as seen from where the study file will be."""
    for root in (folder, *folder.resolve().parents[:3], Path()):
        for name in names:
            if (root / name).is_file():
                return os.path.relpath(root / name, base)
    return None


def _model(name: Any) -> str:
    vendor, slash, model = str(name).partition("/")
    return f"{VENDORS.get(vendor, vendor)}/{model}" if slash else "/".join(("openai", vendor))


def _judges(
    evaluation: _Section,
    template: str,
    agents_alone: bool,
    find: Callable[[str], str | None],
    notes: list[str],
) -> Iterator[dict[str, Any]]:
    """The judges; with `agents_alone` a judge's own template counts only where it is one for agents."""
    model, given = evaluation.take("autograder_model_name"), evaluation.take_list("judges")
    settings = evaluation.section("autograder_model_config")
    decoding = {name: settings.take(name) for name in ("temperature", "max_tokens")}
    decoding = {name: value for name, value in decoding.items() if value is not None}
    for number, each in enumerate(given or [{"name": _model(model), "model": model}]):
        named = each.get("name") if isinstance(each, Mapping) else number
        one = _Section(each, f"judges.{named}")
        words = str(one.take("template") or template)
        words = template if agents_alone and not words.startswith("agent_") else words
        judge = {"name": str(one.take("name")), "model": _model(one.take("model")), **decoding}
        if words == BEST_OF:
            judge["reader"] = {"json": "score"}
            notes.append(
                f"template {words}: give the responses as a list (columns: {{responses: COLUMN}}) and their "
                "number as the scale (best-of-4)"
            )
        if (path := find(words)) is not None:
            judge = {"reader": "json", **judge, "prompt": path}  # the harness sends a schema with templates
        else:
            notes.append(f"template {words}: not found near the configuration; the built-in prompt is used")
        notes += one.left_out_notes()
        yield judge


def _task(
    dataset: _Section, agents: _Section | None, template: str, mixed: bool, find: Callable[[Any], str]
) -> dict[str, Any]:
    paths, params = dataset.section("default_params_path"), dataset.section("default_params")
    own = _Section(None, "") if agents is None else agents.section("autograder_default_params")
    low, high = (
        next(filter(None, (part.take(f"{name}_score") for part in (own, params) for name in names)), None)
        for names in (("lowest", "min"), ("highest", "max"))
    )
    ordinal = template in ORDINAL and low is not None and high is not None
    task: dict[str, Any] = {"scale": f"{low}-{high}" if ordinal else "binary"}
    instruction, rubric = paths.take("instruction"), paths.take("rubric")
    if agents is not None and mixed:
        instruction = rubric = None  # those of the texts
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
    find: Callable[[Any], str],
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
    for name in dict.fromkeys(name for test in tests for name in PROBES.get(test, ())):
        if name == "synthetic_ordinal" and texts:
            yield {name: {"texts": texts}}
        elif name == "stochastic_stability" and seeds:
            yield {name: {"replicates": max(2, seeds * (repeats or 1))}}
        else:
            yield name
    notes += [f"test {test}: there is no such probe; it is left out" for test in tests if test not in PROBES]


def _agent_probes(
    tests: list[str], agents: _Section, scale: str, ordinal: bool
) -> Iterator[str | dict[str, Any]]:
    """The probes of runs; those that the harness edits towards a score are levels here."""
    passes = agents.take("objective") == "pass"
    targets = agents.take_numbers("score_targets") if scale != "binary" else []
    levels = scale != "binary" and (ordinal or targets)
    edited: str | dict[str, Any] = "agent_positives" if passes else "agent_perturbation"
    if levels:
        edited = {"agent_levels": {"targets": targets}} if targets else "agent_levels"
    if "agent_perturbation" in tests:
        yield edited
    if "agent_positives" in tests and edited != "agent_positives":
        yield "agent_positives"


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


def _editing(
    agents: _Section, probes: list[Any], find: Callable[[Any], str], notes: list[str]
) -> dict[str, Any]:
    rounds = agents.take_number("max_edit_rounds")
    editing: dict[str, Any] = {"steps": rounds} if rounds else {}
    for there, here in STAGES.items():
        stage = agents.section(there)
        model, prompt = stage.take("model"), stage.take("prompt_path")
        role = {} if model is None else {"model": _model(model)}
        role |= {} if (warmth := stage.take("temperature")) is None else {"temperature": warmth}
        if prompt is not None and there == "verifier" and "agent_levels" in str(probes):
            notes.append(f"{stage.place('prompt_path')}: {prompt!r} is left out; PASS or FAIL is no level")
        elif prompt is not None:
            role["prompt"] = find(prompt)
        editing |= {here: role} if role else {}
        notes += stage.left_out_notes()
    agents.section("output")
    return {"editing": editing} if editing else {}
