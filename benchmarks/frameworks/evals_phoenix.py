"""Phoenix evaluators as people write them."""

from phoenix.evals import LLM, ClassificationEvaluator

llm = LLM(provider="openai", model="gpt-4o")
correct = ClassificationEvaluator(
    name="correct",
    llm=llm,
    prompt_template="Is the answer right? Question: {input} Answer: {output}",
    choices={"yes": 1, "no": 0},
    temperature=0,
)
by_reference = ClassificationEvaluator(
    name="by_reference",
    llm=llm,
    prompt_template="Question: {input} Answer: {output} Expert: {reference}",
    choices={"yes": 1, "no": 0},
    temperature=0,
)
