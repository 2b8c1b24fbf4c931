"""Tokens that a text is expected to be, against counts of a public tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.trials.prompt import expected_tokens

COUNTED: dict[str, tuple[int, str]] = {
    "english": (
        70,
        """A judge that prefers whatever stands first is easy to catch: show each pair twice, the
second time in the other order, and count how often its verdict stays with the place instead
of the text. The harder question is what such a judge costs. If it is right in eight calls
of ten, how many of these were luck?""",
    ),
    "python": (
        83,
        '''def shuffled(items: Sequence[str], seed: int = 7) -> list[str]:
    """The items in an order that the seed decides."""
    rng = random.Random(seed)
    order = sorted(range(len(items)), key=lambda _: rng.random())
    if not order:
        raise ValueError(f"nothing to shuffle in {items!r}")
    return [items[place] for place in order]
''',
    ),
    "javascript": (
        111,
        """export async function fetchVerdicts(baseUrl, { limit = 20, retries = 3 } = {}) {
  for (let attempt = 0; attempt < retries; attempt += 1) {
    const response = await fetch(`${baseUrl}/verdicts?limit=${limit}`);
    if (response.ok) {
      return (await response.json()).items.map((item) => ({ ...item, seenAt: Date.now() }));
    }
  }
  throw new Error("no reply after " + retries + " attempts");
}
""",
    ),
    "c": (
        95,
        """static int read_pairs(FILE *in, struct pair *out, size_t room)
{
    size_t n = 0;
    while (n < room && fscanf(in, "%d %d", &out[n].left, &out[n].right) == 2) {
        if (out[n].left < 0 || out[n].right < 0)
            return -1;
        n++;
    }
    return (int) n;
}
""",
    ),
    "json": (
        117,
        """{"id": "pair-0017", "judge": {"name": "strict", "model": "m-4", "temperature": 0.0, "seed":
1234}, "scores": [4, 3.5, 0.25, 12], "texts": ["The sky is blue.", "The sky is green."],
"winner": null, "usage": {"input_tokens": 812, "output_tokens": 16, "cached": true}, "tags":
["colour", "short", "en-GB"]}""",
    ),
    "html": (
        88,
        """<table class="figures" id="t1"><thead><tr><th scope="col">Judge</th><th
scope="col">Right</th></tr></thead> <tbody><tr><td><a
href="/judge/1?order=uv&amp;page=2">first</a></td><td
class="n">81.5&nbsp;%</td></tr></tbody></table>""",
    ),
    "german": (
        53,
        """Ein Richter, der immer den ersten Text bevorzugt, ist leicht zu überführen: Man zeigt ihm
jedes Paar zweimal, beim zweiten Mal in umgekehrter Reihenfolge, und zählt, wie oft sein
Urteil am Platz hängt statt am Text.""",
    ),
    "french": (
        49,
        """Un juge qui préfère toujours le premier texte est facile à démasquer : on lui montre chaque
paire deux fois, la seconde dans l'ordre inverse, et l'on compte combien de fois son verdict
reste attaché à la place.""",
    ),
    "russian": (
        53,
        """Судью, который всегда предпочитает первый текст, легко разоблачить: покажите ему каждую пару
дважды, второй раз в обратном порядке, и посчитайте, как часто его решение зависит от места,
а не от текста.""",
    ),
    "chinese": (
        52,
        """总是偏爱第一篇文章的评审很容易被识破：把每一对文章给他看两次，第二次交换顺序，然后数一数他的判断有多少次跟着位置走，而不是跟着内容走。""",
    ),
}
"""Tokens by OpenAI's o200k_base, as its public program counts them."""

GREETINGS = {
    "Hello, my name is GPT-4o. I'm a new type of language model, it's nice to meet you!": 24,
    "Привет, меня зовут GPT-4o. Я — новая языковая модель, приятно познакомиться!": 23,
    "你好，我的名字是GPT-4o。我是一种新型的语言模型，很高兴见到你!": 24,
    "こんにちわ、私の名前はGPT−4oです。私は新しいタイプの言語モデルです、初めまして": 26,
    "안녕하세요, 제 이름은 GPT-4o입니다. 저는 새로운 유형의 언어 모델입니다, 만나서 반갑습니다!": 27,
}
"""Tokens of one greeting in several scripts, from the table in OpenAI's announcement of GPT-4o (2024)."""


@pytest.mark.parametrize("kind", COUNTED)
def test_prose_code_and_data_are_as_many_tokens_as_a_tokenizer_counts(kind: str) -> None:
    tokens, text = COUNTED[kind]
    assert expected_tokens(text) == pytest.approx(tokens, rel=0.13)


@pytest.mark.parametrize("greeting", GREETINGS)
def test_every_script_is_as_many_tokens_as_published(greeting: str) -> None:
    assert expected_tokens(greeting) == pytest.approx(GREETINGS[greeting], rel=0.15)


def test_by_hand() -> None:
    """Two words of 5 and 1 letters, three digits, runs of 1 and 3 signs, two line ends."""
    assert expected_tokens("Hello\n\na 123 = (()") == pytest.approx(
        2 * 0.45 + 6 * 0.13 + 3 * 0.7 + 2 * 0.85 + 4 * 0.1 + 2 * 0.9
    )


@given(st.text(), st.text())
def test_texts_on_lines_of_their_own_add_up(first: str, second: str) -> None:
    together = expected_tokens(f"{first}\n{second}")
    assert together == pytest.approx(expected_tokens(first) + expected_tokens(second) + 0.9)
    assert 0 <= expected_tokens(first) <= 1.6 * len(first)
