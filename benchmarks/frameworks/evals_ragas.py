"""Ragas metrics as people write them."""

from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics import DiscreteMetric, NumericMetric

llm = llm_factory("gpt-4o", client=AsyncOpenAI(max_retries=0))
correct = DiscreteMetric(
    name="correct",
    prompt="Is the answer right? Question: {user_input} Answer: {response}",
    allowed_values=["pass", "fail"],
)
scored = NumericMetric(
    name="scored", prompt="How right? Question: {user_input} Answer: {response}", allowed_values=(0, 1)
)
by_reference = DiscreteMetric(
    name="by_reference", prompt="{user_input} {response} Expert: {reference}", allowed_values=["pass", "fail"]
)
