"""Inspect scorers as people write them; both need a reference."""

from inspect_ai.model import GenerateConfig, get_model
from inspect_ai.scorer import Score, accuracy, model_graded_fact, model_graded_qa, scorer

grader = get_model(
    "openai/gpt-4o", config=GenerateConfig(temperature=0, max_retries=0, timeout=20), responses_api=False
)
TEMPLATE = "Is the answer right? {question} {answer} {criterion} {instructions}"
correct = model_graded_qa(template=TEMPLATE, model=grader)
by_reference = model_graded_fact(model=grader)
POINTS = "1. It is right.\n2. It is short.\n3. It is polite."
by_points = model_graded_qa(template=f"{TEMPLATE}\n{POINTS}\nDoes it hold?", model=grader)


@scorer(metrics=[accuracy()])
def graded():
    async def score(state, target):
        asked = f"Is the answer right? {state.output.completion} {target.text} GRADE: C or I"
        found = await grader.generate(asked)
        return Score(value=found.completion.removeprefix("GRADE: "))

    return score


by_own_scorer = graded()
