"""autoevals judges as people write them."""

from autoevals import Battle, Factuality
from autoevals.llm import LLMClassifier
from openai import AsyncOpenAI

client = AsyncOpenAI(max_retries=0)
correct = LLMClassifier(
    name="correct",
    prompt_template="Is the answer right? Question: {{input}} Answer: {{output}}",
    choice_scores={"yes": 1, "no": 0},
    use_cot=False,
    model="gpt-4o",
    temperature=0,
    client=client,
)
by_reference = LLMClassifier(
    name="by_reference",
    prompt_template="Question: {{input}} Answer: {{output}} Expert: {{expected}}",
    choice_scores={"yes": 1, "no": 0},
    model="gpt-4o",
    temperature=0,
    client=client,
)
POINTS = "1. It is right.\n2. It is short.\n3. It is polite."
by_points = LLMClassifier(
    name="by_points",
    prompt_template=f"Question: {{{{input}}}} Answer: {{{{output}}}}\n{POINTS}\nDoes it hold?",
    choice_scores={"yes": 1, "no": 0},
    model="gpt-4o",
    temperature=0,
    client=client,
)
factual = Factuality(model="gpt-4o", temperature=0, client=client)
battle = Battle(model="gpt-4o", temperature=0, client=client)
