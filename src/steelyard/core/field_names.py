"""Names that people give to the parts of an item, in columns of tables and in braces of prompts.

The one table of synonyms: prompts and readers of tables ask `known`, and `nearest` where it knows nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches

SYNONYMS: Mapping[str, str] = {
    "id": "id uid item_id row_id example_id sample_id question_id record_id prompt_id",
    "request": "request question input inputs query prompt instruction problem user_input user_query "
    "user_question user_prompt user_message user_request input_text original_question",
    "response": "response answer output completion generation prediction reply candidate submission "
    "response_text answer_text output_text actual_output actual_answer actual_response model_output "
    "model_answer model_response llm_output llm_answer llm_response generated_answer generated_text "
    "generated_output generated_response assistant_response assistant_answer assistant_message "
    "student_answer student_response candidate_answer candidate_response predicted_answer bot_response "
    "agent_response ai_response final_answer final_output",
    "reference": "reference references expected ideal gold golden target ground_truth groundtruth "
    "ideal_answer ideal_response gold_answer golden_answer gold_response reference_answer reference_answers "
    "reference_output reference_outputs reference_response ref_answer expected_output expected_answer "
    "expected_response expected_outcome correct_answer target_answer target_output",
    "context": "context contexts retrieved_context retrieved_contexts retrieval_context passage passages "
    "document documents source_document source_text evidence",
    "rubric": "rubric rubrics criteria criterion guidelines grading_criteria evaluation_criteria "
    "evaluation_criterion score_rubric",
    "transcript": "transcript conversation dialogue dialog trajectory messages",
    "low": "low min_score minimum_score lowest_score",
    "high": "high max_score maximum_score highest_score",
    "label": "label labels human human_label human_verdict human_score human_rating human_grade "
    "human_judgement human_judgment human_preference human_choice gold_label true_label expert_label "
    "annotation annotator_label",
    "verdict": "verdict judge_verdict judge_label judge_answer judge_choice judge_decision model_verdict "
    "llm_verdict judgement judgment decision",
    "score": "score judge_score judge_rating model_score llm_score grade rating",
    "judge": "judge judge_name judge_model grader evaluator",
    "system": "system system_name model model_name",
}
"""Field to the names that mean it, in small letters with underscores."""

SLOTS: Mapping[str, str] = {"a": "1", "1": "1", "first": "1", "b": "2", "2": "2", "second": "2"}
"""Words that number one of two: `answer_a`, `response2`, `second`."""
_NUMBERED = ("response", "reference", "system", "transcript")

_HINTS = {
    "correct": "reference",
    "ref": "reference",
    "truth": "reference",
    "retrieved": "context",
} | dict.fromkeys(("text", "answers", "outputs", "responses", "candidates", "assistant", "model"), "response")
"""Words that hint at a field, and are certain names of none."""
_FIELD = {name: field for field, names in SYNONYMS.items() for name in names.split()}
_TYPING_ERROR = 0.75
"""Likeness from which a name is taken for a typing error: `requst`, and not `score` for `correct`."""


def words_of(name: str) -> list[str]:
    return re.findall(r"[a-z]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())


def known(name: str) -> str | None:
    """The field that a name certainly means: `user_input` is request, `answer_b` is response_2.

    Case, blanks, dashes and humps make no difference; a word more that is not in the table makes it unknown.
    """
    words = words_of(name)
    field = _FIELD.get("_".join(words))
    if field is not None:
        return field
    if words in (["first"], ["second"]):
        return f"response_{SLOTS[words[0]]}"
    for place in (-1, 0):
        if len(words) > 1 and words[place] in SLOTS:
            rest = _FIELD.get("_".join(words[:place] if place else words[1:]))
            return f"{rest}_{SLOTS[words[place]]}" if rest in _NUMBERED else None
    return None


def nearest(name: str, fields: Collection[str]) -> str | None:
    """The field that was probably meant, which must be said and never assumed."""
    meant = known(name)
    if meant in fields:
        return meant
    words = words_of(name)
    fields_of = {**_FIELD, **_HINTS}
    found = [fields_of[word] for word in words if word in fields_of]
    narrow = sorted(found, key=lambda field: field not in ("reference", "context", "label", "verdict"))
    slots = [f"{field}_{SLOTS[word]}" for word in words if word in SLOTS for field in (*found, "response")]
    typed = get_close_matches("_".join(words), [*_FIELD, *fields], n=3, cutoff=_TYPING_ERROR)
    candidates = [*words, *slots, *narrow, *typed, *(_FIELD[one] for one in typed if one in _FIELD)]
    return next((one for one in candidates if one in fields), None)
