"""openevals judges as people write them."""

from langchain_core.prompts import ChatPromptTemplate
from langchain_openai import ChatOpenAI
from openevals.llm import create_async_llm_as_judge, create_llm_as_judge

model = ChatOpenAI(model="gpt-4o", temperature=0, max_retries=0)
PROMPT = "Is the answer right? Question: {inputs} Answer: {outputs}"
correct = create_async_llm_as_judge(prompt=PROMPT, judge=model)
threaded = create_llm_as_judge(prompt=PROMPT, judge=model)
continuous = create_async_llm_as_judge(prompt=PROMPT, judge=model, continuous=True)
by_reference = create_async_llm_as_judge(prompt=PROMPT + " Expert: {reference_outputs}", judge=model)
POINTS = "1. It is right.\n2. It is short.\n3. It is polite."
by_points = create_async_llm_as_judge(prompt=f"{PROMPT}\n{POINTS}\nDoes it hold?", judge=model)
messages = [("system", "Is the answer right?"), ("user", "Question: {inputs} Answer: {outputs}")]
by_messages = create_async_llm_as_judge(prompt=ChatPromptTemplate.from_messages(messages), judge=model)


def ask(*, inputs, outputs, **_):
    return [{"role": "user", "content": PROMPT.format(inputs=inputs, outputs=outputs)}]


by_function = create_async_llm_as_judge(prompt=ask, judge=model)
