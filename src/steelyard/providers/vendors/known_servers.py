"""Chat-completions servers that are known by name: where each listens, and what is its own.

Addresses and variables are those of the vendors' public documentation ("OpenAI compatibility" pages).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

TOGGLE = "thinking.type"
"""Form of a budget for thoughts where a server can only be told to think or not to."""


@dataclass(frozen=True)
class KnownServer:
    name: str
    title: str
    url: str
    """Up to and including the version."""
    key_variable: str = ""
    prices: str = ""
    """Whose list prices count, where the price table has another name for the vendor."""
    field_names: Mapping[str, str] = field(default_factory=dict)
    has_file_batches: bool = False

    @property
    def local(self) -> bool:
        return not self.key_variable

    @property
    def meaning(self) -> str:
        if self.local:
            return f"a model of a local {self.title} server, {self.url} unless base_url says otherwise"
        return f"a model served by {self.title}; needs {self.key_variable}"


KNOWN_SERVERS = (
    KnownServer(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        field_names={"effort": "reasoning.effort", "thinking_tokens": "reasoning.max_tokens"},
    ),
    KnownServer("together", "Together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    KnownServer("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    KnownServer(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        field_names={"seed": "random_seed"},
    ),
    KnownServer(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        field_names={"thinking_tokens": TOGGLE},
    ),
    KnownServer("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", prices="x-ai"),
    KnownServer("fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    KnownServer("cerebras", "Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    KnownServer(
        "moonshot",
        "Moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        prices="moonshotai",
        field_names={"thinking_tokens": TOGGLE},
    ),
    KnownServer("huggingface", "Hugging Face", "https://router.huggingface.co/v1", "HF_TOKEN"),
    KnownServer("nvidia", "NVIDIA", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    KnownServer("vllm", "vLLM", "http://127.0.0.1:8000/v1", has_file_batches=True),
    KnownServer("sglang", "SGLang", "http://127.0.0.1:30000/v1"),
    KnownServer("ollama", "Ollama", "http://127.0.0.1:11434/v1"),
    KnownServer("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1"),
    KnownServer("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1"),
)
