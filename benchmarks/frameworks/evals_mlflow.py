"""MLflow judges as people write them."""

from mlflow.genai.judges import make_judge
from mlflow.genai.scorers import Guidelines

correct = make_judge(
    name="correct",
    instructions="Is the answer right? {{ inputs }} {{ outputs }}",
    model="openai:/gpt-4o",
    inference_params={"temperature": 0},
    feedback_value_type=bool,
)
by_reference = make_judge(
    name="by_reference",
    instructions="{{ inputs }} {{ outputs }} {{ expectations }}",
    model="openai:/gpt-4o",
    inference_params={"temperature": 0},
    feedback_value_type=bool,
)
guided = Guidelines(
    name="guided",
    guidelines="The answer is right.",
    model="openai:/gpt-4o",
    inference_params={"temperature": 0},
)
