"""The answer that a judge's reason ends with, where its last sentence names exactly one.

A number that stands in a sentence is mostly no score ("misses 2 of the 5 steps"), so an answer counts only in
the words by which people give one: "a score of 2", "deserves a 4", "3/5", "so it fails", "candidate 2 is
better". What is denied, supposed or compared with ("rather than a 5", "a 4 if it cited one") is no answer,
and a sentence that names two names none: a reason that is not understood is left out of the figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache

from steelyard.tasks.task import BINARY_WORDS, BestOf, Binary, Ordinal, Pairwise, Scale
from steelyard.verdicts.verdict import ABSTAIN, Decided, Tie, Verdict, Words, find_object, meanings

REASON_KEYS = (
    *("reason", "reasoning", "rationale", "explanation", "justification"),
    *("analysis", "thoughts", "thinking", "thought", "evaluation", "comment", "feedback"),
)
"""Keys of a JSON reply under which a reason stands, in the order in which they are looked for."""
SHORTEST, LONGEST = 12, 400
"""Characters below which a text holds no sentence with an answer, and of its end that are looked at."""


def json_reason(text: str, key: str) -> str:
    """The reason in the object that has the answer; else the prose around it."""
    body = find_object(text, key)
    if body is None:
        return ""
    own = {name.lower(): value for name, value in body.items()}
    told = (own[name].strip() for name in REASON_KEYS if isinstance(own.get(name), str))
    before, _, rest = text.partition("{")
    after = rest.rpartition("}")[2]
    return next((reason for reason in (*told, _bare(before), _bare(after)) if reason), "")


def thought_of(text: str) -> str:
    """What stands between the marks of reasoning, where a server leaves it in front of the answer."""
    if not text.lstrip().startswith("<think>"):
        return ""
    return text.rpartition("</think>")[0].replace("<think>", "").strip()


def answer_named(verdict: Verdict) -> str | None:
    """The answer of a verdict as a reason may name it; None where the judge gave none."""
    match verdict:
        case Decided(value=value):
            return value
        case Tie():
            return "tie"
    return None


def stated_answer(reason: str, scale: Scale, words: Words) -> str | None:
    """The one answer that the last sentence of a reason names; None where it names none, or two."""
    if len(reason) < SHORTEST:
        return None
    grammar = _grammar(scale, tuple(words.items()))
    named = {answer for clause in _clauses(_last_sentence(reason)) for answer in grammar.named(clause)}
    return named.pop() if len(named) == 1 else None


def _bare(text: str) -> str:
    return text.strip().strip("`").removesuffix("json").strip("` \n")


_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]*_]*\s+|\n+")
_CLAUSE_END = re.compile(
    r"[,;]\s+|\s[–—-]\s|—|\s(?=(?:but|so|therefore|hence|thus|yet|however|which|and|because|since|rather|instead)\s)",
    re.IGNORECASE,
)
_CONCEDED = re.compile(
    r"\W*(?:(?:but|and|so|yet)\s+)?(?:(?:al)?though|even|while|whereas|despite|if|unless|had|were|"
    r"considering|compared|given that|unlike|with|without|in order|to)\b",
    re.IGNORECASE,
)
"""How a clause begins that grants or supposes something."""
_DENIED = re.compile(
    r"\b(?:not|cannot|never|nor|neither|without|than|instead|short of|if|unless|might|may|any|no|hard(?:ly)?|"
    r"(?:w|c)ould have|(?<!\bI )(?<!\bwe )(?<!'d )(?:would|could)|between|almost|nearly|close to|whether|"
    r"often|sometimes|typically|usually|normally|originally|initially|at first|previous(?:ly)?|tempted|"
    r"considered|kind of|expected|requires?|required|lacks?|asks?|reserved|only (?:where|when)|traits?|"
    r"some|many|readers?|users?|people|students?|question|says|said|claims?|states?|stating|according|"
    r"agree|explains?|argues?|reports?|the sum|equation|"
    r"(?:response|answer|text|agent|candidate|output|model|essay|author|writer)\s+"
    r"(?:rat|giv|gav|mark|assign|award)\w+)\b|n't\b",
    re.IGNORECASE,
)
"""What makes of an answer one that is not given, or that others give."""
_SUPPOSED = re.compile(r"\b(?:if|unless|had it|were it|once|whether|until|depending)\b", re.IGNORECASE)
"""What, after an answer, makes it depend on something."""


def _last_sentence(reason: str) -> str:
    sentences = [part.strip(" \t*_#>\"'`") for part in _SENTENCE_END.split(reason[-LONGEST:])]
    return next((part for part in reversed(sentences) if part), "")


def _clauses(sentence: str) -> Iterator[str]:
    """Parts of a sentence that may name an answer each."""
    plain = re.sub(r"[*_`\"“”]|\[\[|\]\]", "", sentence).replace("’", "'")
    for clause in _CLAUSE_END.split(plain):
        if clause.strip() and not _CONCEDED.match(clause):
            yield clause.strip()


@dataclass(frozen=True)
class _Grammar:
    """How the answers of a scale are named."""

    meanings: Mapping[str, str]
    """Word as it is matched, in lower case, to answer."""
    forms: tuple[re.Pattern[str], ...]
    """Each with a group `answer`."""
    fixed: tuple[tuple[re.Pattern[str], str], ...] = ()
    """Words for one answer."""
    opposite: Mapping[str, str] = field(default_factory=dict)
    """Answer to the one that denying it means."""

    def named(self, clause: str) -> Iterator[str]:
        for start, end, stop, answer in self._found(clause):
            if _SUPPOSED.search(clause, stop):
                continue
            before = clause[:start]
            denials = len(_DENIED.findall(before)) + len(_DENIED.findall(clause[end:stop]))
            if not denials:
                yield answer
            elif denials == 1 and answer in self.opposite and _JUST_DENIED.search(before):
                yield self.opposite[answer]

    def _found(self, clause: str) -> Iterator[tuple[int, int, int, str]]:
        """Start and end of each answer, end of what says that it is one, and the answer."""
        for form in self.forms:
            for match in form.finditer(clause):
                yield *match.span("answer"), match.end(), self.meanings[match["answer"].lower()]
        for form, answer in self.fixed:
            for match in form.finditer(clause):
                yield match.start(), match.end(), match.end(), answer


_JUST_DENIED = re.compile(r"(?:\bnot|\bcannot|\bnever|n't)\s+(?:\w+\s+){0,2}$", re.IGNORECASE)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SCORE = r"\b(?:score|rating|grade|mark|verdict|(?:final|my|overall) answer|judge?ment)s?\b"
_BINARY_SCORE = _SCORE.replace("score|", "score|answer|label|decision|classification|")
_LINK = r"(?:\b(?:is|of|to|be|at|as|remains)\b|[:=→]|->)"
_GIVES = (
    r"\b(?:giv(?:e|es|ing|en)|gave|assign(?:s|ed|ing)?|award(?:s|ed|ing)?|earn(?:s|ed|ing)?|"
    r"deserv(?:e|es|ing)|merit(?:s|ed|ing)?|warrant(?:s|ed|ing)?|gets?|receiv(?:e|es|ed)|rat(?:e|es|ed|ing)|judg(?:e|ed|ing)|"
    r"scor(?:e|es|ed|ing)|grad(?:e|ed|ing)|mark(?:s|ed|ing)?|land(?:s|ing)? (?:at|on)|"
    r"settl(?:e|ing) (?:on|for)|go(?:ing)? with|justif(?:y|ies|ied|ying)|calls? for|stands? at|amounts? to|"
    r"comes? (?:out )?(?:to|at)|placed? at|put (?:it )?at|enough for|"
    r"drops? (?:it )?to|qualif(?:y|ies) (?:as|for)|"
    r"label(?:s|led|ed)?|classif(?:y|ied|ies)(?: \w+)? as)"
)
_QUIET = r"(?:(?!\d)[^.,;:]){0,40}?"
"""A few words without a number."""
_LEADS = (
    r"(?:(?:it|this|that|them|is|be|as|at|to|of|for|an?|the|only|just|therefore|thus|clearly|my|final)\s+)*"
)
_REASON_FOLLOWS = r"(?:for|because|as|since|due|overall|given|here|under|by)\b"
_ENOUGH = (
    rf"(?=\W*$|\s+(?:{_REASON_FOLLOWS}|(?:points?|stars?|marks?|on (?:the|this|a)|in total|seems|"
    r"feels|from me|fits|reflects|out of|"
    r"(?:is|was)(?! (?:for|only|given|reserved|meant|when|where)))\b)|\s*[:(/])"
)
"""What may follow a number that is a score and counts no things."""


@cache
def _grammar(scale: Scale, words: tuple[tuple[str, str], ...]) -> _Grammar:
    known = {word.lower(): answer for word, answer in meanings(words, scale).items() if answer != ABSTAIN}
    if isinstance(scale, (Pairwise, BestOf)):
        return _slot_grammar(scale, known)
    return _score_grammar(scale, known)


def _score_grammar(scale: Binary | Ordinal, known: Mapping[str, str]) -> _Grammar:
    spelled = {name: known[str(at)] for at, name in enumerate(_NUMBERS) if str(at) in known}
    every = {**spelled, **known}
    word = rf"(?P<answer>{_either(every)})(?![\w.%]*\w|\s*[-–]\s*\d)"
    noun = _BINARY_SCORE if isinstance(scale, Binary) else _SCORE
    forms = [
        rf"{noun}{_QUIET}{_LINK}\s*{_LEADS}{word}{_ENOUGH}",
        rf"{_GIVES}\s+{_QUIET}\b{_LEADS}{word}{_ENOUGH}",
        rf"^\W*(?:(?:so|hence|therefore|thus|overall|final(?:ly)?|in (?:short|sum|total))\b)?\W*"
        rf"{_LEADS}{word}(?:\s+(?:stars?|points?))?\W*$",
        rf"\b(?:is|be|as|at|was|makes it|it's|that's)\s+an?\s+(?:\w+\s+)?{word}{_ENOUGH}",
        rf"^\W*(?:so\s+)?an?\s+(?:\w+\s+)?{word}\s+(?:is|seems)\s+(?:\w+ly\s+)?"
        r"(?:justified|fair|appropriate|warranted|deserved|right)\b",
        rf"\blevel\s+{word}(?!\s+\w+s\b)",
        rf"(?:→|->|=)\s*{word}\W*$",
    ]
    if isinstance(scale, Ordinal):
        tops = [str(scale.high), *_NUMBERS[scale.high : scale.high + 1]]
        of_all = rf"\s*(?:/|out of)\s*(?:{_either(tops)})"
        end = rf"(?=\W*$|\s+(?:{_REASON_FOLLOWS}|stars?\b|points?\b)|[,;:)])"
        forms.append(rf"\b(?P<answer>{_either(every)}){of_all}{end}")
    own = [each for each in known if not each.isdigit() and len(each) > 2 and each not in BINARY_WORDS]
    if own:
        forms.append(
            r"\b(?:is|are|be|was|as|seems|deemed|considered)\s+(?:\w+ly\s+|an?\s+|not\s+){0,2}"
            rf"(?P<answer>{_either(own)})\b(?!\s+(?:to|in|on|at)\b)"
        )
    if not isinstance(scale, Binary):
        return _Grammar(every, _compiled(forms))
    fixed = _PASSING if {"pass", "fail"} <= known.keys() else ()
    return _Grammar(every, _compiled(forms), fixed, {"0": "1", "1": "0"})


_PASSED = (
    rf"(?=\W*$|\s+{_REASON_FOLLOWS}|\s+(?:the|this|its) (?:\w+ )?"
    r"(?:rubric|check|test|criteri\w+|bar|standard|threshold|evaluation|requirements?|grade)\b)"
)
"""What follows where a text passes or fails as a whole; it may fail to mention something, and pass."""
_PASSING = (
    (re.compile(rf"\bpass(?:es|ed|ing)?\b{_PASSED}", re.IGNORECASE), "1"),
    (re.compile(rf"\bfail(?:s|ed|ing)?\b{_PASSED}", re.IGNORECASE), "0"),
)
_NOUN = (
    r"(?:response|answer|candidate|text|output|assistant|option|summary|model|version|reply|essay|"
    r"translation|completion|passage|slot|story|article|choice|one)"
)
_BEST = (
    rf"(?:(?:the|a) (?:\w+ )?(?:winner|(?:winning|best|preferred) {_NOUN})|"
    rf"(?:preferable|preferred|the best)(?=\W*$|\s+(?:of the|{_REASON_FOLLOWS})))"
)
_BETTER = (
    rf"(?:{_BEST}|(?:the|a) (?:\w+ )?(?:better|stronger|superior) {_NOUN}|"
    rf"(?:better|stronger|superior)"
    rf"(?=\W*$|\s+(?:than (?:the other|the \w+ {_NOUN}|{_NOUN}|\w\b)|{_REASON_FOLLOWS})))"
)
"""What is said of the text that wins; one may be better written, and lose."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth")


def _slot_grammar(scale: Pairwise | BestOf, known: Mapping[str, str]) -> _Grammar:
    slots = [answer for answer in scale.answers if answer != "tie"]
    letters = {chr(ord("a") + place): slot for place, slot in enumerate(slots)}
    ordinals = dict(zip(_ORDINALS, slots, strict=False))
    spelled = {_NUMBERS[int(slot)]: slot for slot in slots if int(slot) < len(_NUMBERS)}
    every = {**letters, **spelled, **ordinals, **known}
    name = _either(word for word in every if word not in ordinals and every[word] != "tie")
    slot = (
        rf"(?:\b{_NOUN}\s*[(\[#]?\s*(?!(?:{_either(ordinals)})\b)|\bthe\s+(?=(?:{_either(ordinals)})\b)|"
        r"(?:^|(?<=so )|(?<=thus )|(?<=therefore ))(?=[a-d1-9]\s+(?:is|wins)\b))"
        rf"(?P<answer>{name}|{_either(ordinals)})\b[)\]]?(?:\s+{_NOUN}\b)?"
    )
    is_a = r"\s+(?:\w+\s+){0,2}?(?:is|was|seems|appears|remains|should be|comes out|ends up)\s+"
    wins = _BEST if isinstance(scale, BestOf) else _BETTER
    forms = [
        rf"{slot}{is_a}(?:\w+\s+){{0,2}}?{wins}",
        rf"{slot}\s+(?:\w+\s+)?(?:wins?(?!\s+(?:on|in|at)\b)|edges out|outperforms|takes it|prevails)\b",
        rf"\b(?:prefer|choose|pick|select|favou?r|go(?:ing)? with|vote for|opt for)\s+{slot}",
        rf"\b(?:winner|better|best|stronger|verdict|choice|vote|preference|preferred)\b(?:\s+{_NOUN})?"
        rf"(?:\s+(?:overall|here))?\s*(?:\bis|:|goes to)\s+(?:\w+ly\s+)?{slot}",
        r"\b(?:winner|verdict|choice|preference|answer)\s*(?:\bis|[:=]|goes to)\s*\(?"
        rf"(?P<answer>{name}|tie)\)?\W*$",
    ]
    return _Grammar(every, _compiled(forms), _TIED if "tie" in scale.answers else ())


_TIED = tuple(
    (re.compile(form, re.IGNORECASE), "tie")
    for form in (
        r"\b(?:is|it's|be|as|call(?:s|ed)? (?:it|this)|declare) a (?:\w+ )?(?:tie|draw)\b",
        r"\b(?:both|they|two|candidates|responses|answers|outputs|texts)\b(?: \w+){0,2} (?:are|tie|seem)"
        r"(?: \w+)? (?:equal(?:ly good)?|tied|equivalent|on (?:a )?par|of equal quality)"
        r"(?=\W*$| overall| in quality)",
        r"\bneither(?: \w+)? is (?:clearly |really )?(?:better|stronger|superior)(?=\W*$| than)",
        r"\bno (?:clear |real )?winner\b",
        r"^\W*(?:(?:so|hence|therefore|thus)\W+)?(?:a )?tie\W*$",
    )
)


def _either(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


def _compiled(forms: Iterable[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(form, re.IGNORECASE) for form in forms)
