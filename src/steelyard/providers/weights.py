from pathlib import Path


def ensure_weights():
    return Path("/tmp/emb/q4.gguf")
