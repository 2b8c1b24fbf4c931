"""Maps, questions and rubrics for public benchmarks; their data stay with their authors."""

from steelyard.tasks.adapters.adapter import Adapter
from steelyard.tasks.adapters.files import ADAPTERS

__all__ = ["ADAPTERS", "Adapter"]
