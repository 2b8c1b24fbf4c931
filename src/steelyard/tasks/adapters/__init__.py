"""Maps, questions and rubrics for public benchmarks; their data stay with their authors."""

from steelyard.tasks.adapters.adapter import ADAPTERS, Adapter

__all__ = ["ADAPTERS", "Adapter"]
