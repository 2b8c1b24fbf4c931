"""Commands to copy, at the end of each command's help."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "measure": (
        "steelyard measure -j openai/gpt-4o-mini -p vacuum -p ladder",
        "steelyard measure -j planted/probit --out run",
        "steelyard measure -j planted/rater --data items.csv --rubric rubric.md \\\n"
        "    --scale binary --columns request=question,response=answer,label=ok",
        'steelyard measure -j planted/tie --decide "dark_current<0.10"',
    ),
    "plan": (
        "steelyard plan -j openai/gpt-4o-mini --profile standard",
        "steelyard plan study.yaml --by-probe",
    ),
    "generate": ("steelyard generate study.yaml",),
    "review": ("steelyard review run", "steelyard review run --reviewers 2 --blind"),
    "report": ("steelyard report run", "steelyard report run --full", "steelyard report run --format md"),
    "view": ("steelyard view run", "steelyard view before after"),
    "show": ("steelyard show run", "steelyard show run --outcome flip -n 2"),
    "compare": ("steelyard compare run:planted/probit run:coin", "steelyard compare before after"),
    "overall": ("steelyard overall first second",),
    "gate": ("steelyard gate run --policy policy.yaml",),
    "import": ("steelyard import verdicts.jsonl --out imported",),
    "export": ("steelyard export run --inspect",),
    "selftest": ("steelyard selftest",),
    "serve-planted": ("steelyard serve-planted planted/probit --port 8765",),
    "probes": ("steelyard probes", "steelyard probes ladder typos"),
    "judges": ("steelyard judges",),
    "doctor": ("steelyard doctor", "steelyard doctor -j planted/tie"),
}
"""Command to lines that work as they stand, beside the files that they name."""

TWINS = "Each option has an environment twin: STEELYARD_JUDGE for --judge."


def ending(command: str, *, options: bool) -> str:
    """The end of a command's help: its examples, and the environment twins where it has options."""
    lines = "\n".join(f"  {line}" for example in EXAMPLES.get(command, ()) for line in example.split("\n"))
    shown = f"\b\nExamples:\n{lines}" if lines else ""
    return "\n\n".join(part for part in (shown, TWINS if options else "") if part)
