"""Ragas metrics as people write them."""

from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI
from ragas.llms import LangchainLLMWrapper, llm_factory
from ragas.metrics import AspectCritic, DiscreteMetric, NumericMetric
from ragas.metrics.collections import Faithfulness

llm = llm_factory("gpt-4o", client=AsyncOpenAI(max_retries=0), temperature=0)
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
faithful = Faithfulness(llm=llm)
chat = LangchainLLMWrapper(ChatOpenAI(model="gpt-4o", temperature=0, max_retries=0))
aspect = AspectCritic(name="aspect", definition="Is the answer right?", llm=chat)
