"""DeepEval metrics as people write them."""

from deepeval.metrics import ArenaGEval, DAGMetric, FaithfulnessMetric, GEval
from deepeval.metrics.dag import BinaryJudgementNode, DeepAcyclicGraph, VerdictNode
from deepeval.models import DeepEvalBaseLLM, GPTModel
from deepeval.test_case import LLMTestCaseParams as P
from openai import AsyncOpenAI

model = GPTModel(model="gpt-4o", temperature=0)
params = [P.INPUT, P.ACTUAL_OUTPUT]
correct = GEval(
    name="Correctness", evaluation_steps=["Is the answer right?"], evaluation_params=params, model=model
)
by_criteria = GEval(
    name="Correctness", criteria="Is the answer right?", evaluation_params=params, model=model
)
by_reference = GEval(
    name="Correctness",
    evaluation_steps=["Compare with the expected output."],
    evaluation_params=[*params, P.EXPECTED_OUTPUT],
    model=model,
)
node = BinaryJudgementNode(
    criteria="Is the answer right?",
    evaluation_params=params,
    children=[VerdictNode(verdict=False, score=0), VerdictNode(verdict=True, score=10)],
)
graph = DAGMetric(name="Graph", dag=DeepAcyclicGraph(root_nodes=[node]), model=model, include_reason=False)
arena = ArenaGEval(name="Arena", evaluation_steps=["Which is better?"], evaluation_params=params, model=model)
faithful = FaithfulnessMetric(model=model)
client = AsyncOpenAI(max_retries=0)
PREFIX = "Judge it."


class OwnModel(DeepEvalBaseLLM):
    def load_model(self):
        return "gpt-4o"

    def get_model_name(self):
        return "own"

    def generate(self, prompt):
        raise NotImplementedError

    async def a_generate(self, prompt):
        message = {"role": "user", "content": f"{PREFIX} {prompt}"}
        reply = await client.chat.completions.create(model=self.model, temperature=0, messages=[message])
        return reply.choices[0].message.content


by_own_model = GEval(
    name="Correctness", evaluation_steps=["Is the answer right?"], evaluation_params=params, model=OwnModel()
)
