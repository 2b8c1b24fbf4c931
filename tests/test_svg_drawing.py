"""SVG drawings: places of elements by hand, axes, forest plots, and what hostile text can not do."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.datasheet.render.html.drawing.axis import (
    Axis,
    NameScale,
    Scale,
    draw,
    rate_axis,
    round_values,
    tick_labels,
)
from steelyard.datasheet.render.html.drawing.forest_plot import IntervalRow, forest_plot
from steelyard.datasheet.render.html.drawing.svg import (
    ROLES,
    Box,
    SvgElement,
    colour,
    document,
    draw_line,
    draw_marker,
    draw_rect,
    draw_text,
    error_bar,
    number,
    tag,
    text_width,
    truncate_text,
)

SPACE = "{http://www.w3.org/2000/svg}"
few = settings(max_examples=80, deadline=None)


def parse(*elements: SvgElement, **words: str) -> ElementTree.Element:
    named = {"title": "A title", "label": "judge: 0.5", **words}
    return ElementTree.fromstring(document(elements, width=100, height=50, **named))


def parts(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return list(root.iter(f"{SPACE}{name}"))


def words(root: ElementTree.Element) -> list[str]:
    return [part.text or "" for part in parts(root, "text")]


# Elements, in pixels.


def test_markers_are_filled_with_an_outline_or_hollow() -> None:
    filled, hollow = (
        draw_marker("circle", (25, 30), role="bad", size=100, hollow=each) for each in (False, True)
    )
    first, second = parts(parse(filled, hollow), "circle")
    assert [first.get(name) for name in ("cx", "cy", "r")] == ["25", "30", "5"]
    assert (first.get("fill"), first.get("stroke")) == ("var(--bad)", "var(--paper)")
    assert (second.get("fill"), second.get("stroke")) == ("var(--paper)", "var(--bad)")
    assert filled.box == Box(25 - 5.6, 30 - 5.6, 25 + 5.6, 30 + 5.6)


def test_shapes_are_as_wide_as_circles_and_can_be_rotated() -> None:
    square = draw_marker("square", (50, 25), role="good", size=100, angle=90)
    diamond = draw_marker("diamond", (50, 25), role="wait", size=100, outline="wait")
    first, second = parts(parse(square, diamond), "path")
    assert (first.get("d"), second.get("d")) == ("M-5,-5L5,-5L5,5L-5,5Z", "M-5,0L0,-5L5,0L0,5Z")
    assert first.get("transform") == "translate(50,25) rotate(90.0)"
    assert second.get("stroke") == "var(--wait)"
    with pytest.raises(ValueError, match="shape of a marker: found 'star', expected one of circle, square"):
        draw_marker("star", (0, 0), role="ink")


def test_lines_go_through_their_points_in_order() -> None:
    (line,) = parts(parse(draw_line([(100, 50), (0, 50), (50, 0)], role="accent", dash=(4, 3))), "path")
    assert (line.get("d"), line.get("fill")) == ("M100,50L0,50L50,0", "none")
    assert (line.get("stroke"), line.get("stroke-dasharray")) == ("var(--accent)", "4 3")
    bar = error_bar((10, 5), (10, 45), "stable")
    assert bar.box == Box(10, 5, 10, 45)
    assert 'd="M10,5L10,45"' in bar.markup


def test_a_rectangle_has_a_fill_or_only_a_stroke() -> None:
    band = draw_rect(Box(10, 0, 20, 50), role="accent", opacity=0.12, radius=3)
    empty = draw_rect(Box(10, 0, 20, 50), role=None, stroke="grid", stroke_width=2)
    first, second = parts(parse(band, empty), "rect")
    assert [first.get(name) for name in ("x", "y", "width", "height", "rx")] == ["10", "0", "10", "50", "3"]
    assert (first.get("fill"), first.get("opacity"), first.get("stroke")) == ("var(--accent)", "0.12", None)
    assert (second.get("fill"), second.get("stroke")) == ("transparent", "var(--grid)")
    assert empty.box == Box(9, -1, 21, 51)


def test_texts_have_their_baseline_and_their_side() -> None:
    drawn = draw_text("word", (53, 23), size=10, align="right", baseline="top", weight=600)
    (text,) = parts(parse(drawn), "text")
    assert (text.get("x"), text.get("y")) == ("53", "30.9")
    assert [text.get(name) for name in ("text-anchor", "font-weight", "fill")] == ["end", "600", "var(--ink)"]
    assert draw_text("x", (1, 2), size=10, vertical=True).box.top == pytest.approx(2 - 10 * 0.63 / 2)


# The document.


def test_the_document_is_as_large_as_what_stands_on_it() -> None:
    bare = parse()
    assert (bare.get("width"), bare.get("height"), bare.get("viewBox")) == ("108", "58", "0 0 108 58")
    text = "a word at the right"
    wide = parse(draw_text(text, (100, 25), align="left"))
    assert int(wide.get("width") or 0) >= 108 + text_width(text, 13) - 4


def test_a_drawing_has_a_title_and_an_aria_label() -> None:
    root = parse(title='<b>"&', label="α < β & 'γ'")
    assert root[0].tag == f"{SPACE}title"
    assert root[0].text == '<b>"&'
    assert (root.get("role"), root.get("aria-label")) == ("img", "α < β & 'γ'")


@pytest.mark.slow
@few
@given(st.text(), st.text(min_size=1))
def test_words_stay_words(text: str, name: str) -> None:
    rows = [IntervalRow(name, 0.5, (0.2, 0.7), "stable", text=text)]
    markup = forest_plot(rows, title=text, label=text or "-", axis_title=text)
    root = ElementTree.fromstring(markup.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    tags = ("svg", "title", "g", "text", "path", "circle")
    assert {part.tag for part in root.iter()} <= {SPACE + tag for tag in tags}
    assert set(root.attrib) == {"width", "height", "viewBox", "role", "aria-label"}


def test_the_same_rows_are_the_same_bytes_and_only_roles_are_colours() -> None:
    rows = [IntervalRow(f"judge {n}", n / 7, (n / 9, None), "series-1") for n in range(5)]
    first, second = (forest_plot(rows, title="t", axis_title="rate") for _ in range(2))
    assert first == second
    painted = set(re.findall(r'(?:fill|stroke)="([^"]+)"', first))
    assert painted <= {"none", *(f"var(--{role})" for role in ROLES)}


def test_a_colour_is_a_role_of_the_style_sheet() -> None:
    assert colour("series-8") == "var(--series-8)"
    with pytest.raises(KeyError, match="found 'red', expected one of ink"):
        colour("red")


def test_numbers_are_short() -> None:
    texts = [number(value) for value in (1, 1.005, -0.001, 12.345678, -3.5)]
    assert texts == ["1", "1", "0", "12.35", "-3.5"]
    assert tag("a", b_c=None, d=1.0) == '<a d="1"/>'


# Axes and scales.


def test_an_axis_has_its_ticks_labels_and_title() -> None:
    markup = draw([], width=200, height=50, title="t", label="l", x=rate_axis("share of calls", 200))
    root = ElementTree.fromstring(markup)
    assert words(root) == ["0", "0.25", "0.5", "0.75", "1", "share of calls"]
    grid = [part.get("d") for part in parts(root, "path") if part.get("stroke") == "var(--grid)"]
    assert grid[:2] == ["M0.5,0L0.5,50", "M50.5,0L50.5,50"]
    assert sum((part.get("d") or "").endswith(",54") for part in parts(root, "path")) == 5


def test_scales_by_hand() -> None:
    across, up = Scale(0, 10, 100), Scale(0, 10, 50, upward=True)
    assert [across(value) for value in (0, 2.5, 10)] == [0, 25, 100]
    assert [up(value) for value in (0, 4, 10)] == [50, 30, 0]
    roots = Scale(0, 1, 100, root=True)
    assert [roots(value) for value in (0, 0.25, 1, -0.25)] == [0, 50, 100, -50]
    assert NameScale(("a", "b"), 40)("b") == 30
    assert Scale(3, 3, 100)(3) == 50


def test_labels_that_would_touch_are_thinned_and_long_ones_truncated() -> None:
    marks = Axis(Scale(0, 10, 60), ticks=range(11)).marks
    assert [label for _, label in marks if label] == ["0", "4", "8"]
    ((_, label),) = Axis(NameScale(("a name that is far too long",), 40), limit=60).marks
    assert label.endswith("…")
    assert text_width(label, 13) <= 60
    assert truncate_text("short", 12, 0) == "short"
    assert truncate_text("mmmm", 12, 5) == "…"


def test_an_axis_has_one_label_per_tick() -> None:
    with pytest.raises(ValueError, match="labels of an axis: found 2, expected 1, one per tick"):
        _ = Axis(Scale(0, 1, 10), ticks=[1], labels=["a", "b"]).marks


@few
@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 12))
def test_round_values_lie_between_the_ends_in_even_steps(low: float, width: float, count: int) -> None:
    values = round_values(low, low + width, count)
    slack = 1e-6 * width + 1e-9 * abs(low)
    assert all(low - slack <= value <= low + width + slack for value in values)
    assert len(values) <= 2 * count + 1
    steps = {f"{b - a:.3g}" for a, b in pairwise(values)}
    assert len(steps) <= 1 or width < 1e-6 * abs(low)


@pytest.mark.parametrize(
    ("values", "signed", "texts"),
    [
        ([0, 0.25, 0.5, 1], False, ["0", "0.25", "0.5", "1"]),
        ([-0.5, 0, 0.5], True, ["−0.5", "0", "+0.5"]),
        ([1000, 20000], False, ["1,000", "20,000"]),
        ([100, 0.1], False, ["100", "0.1"]),
        ([-0.0], True, ["0"]),
    ],
)
def test_labels_of_values(values: list[float], signed: bool, texts: list[str]) -> None:
    assert tick_labels(values, signed=signed) == texts


# The dot-and-interval plot: 260 pixels for 0 to 1, 26 for a row.


def test_a_forest_plot_by_hand() -> None:
    rows = [
        IntervalRow("a", 0.5, (0.25, 0.75), "good", inner=(0.4, 0.6), text="half"),
        IntervalRow("b", None, (0.5, None), "bad"),
    ]
    root = ElementTree.fromstring(
        forest_plot(rows, names=["a", "none", "b"], title="t", label="l", reference=0.1, margin=0.2)
    )
    lines = {part.get("d"): part for part in parts(root, "path")}
    assert (lines["M65,13L195,13"].get("stroke-width"), lines["M104,13L156,13"].get("stroke-width")) == (
        "1.8",
        "5",
    )
    assert lines["M26,0L26,78"].get("stroke-dasharray") == "4 3"
    assert lines["M130,65L260,65"].get("stroke") == "var(--bad)"
    (dot,) = parts(root, "circle")  # b is a bound: an arrow at its open end and no marker
    assert (dot.get("cx"), dot.get("cy"), dot.get("fill")) == ("130", "13", "var(--good)")
    (arrow,) = [part for part in parts(root, "path") if part.get("transform")]
    assert arrow.get("transform") == "translate(260,65)"
    (band,) = parts(root, "rect")
    assert (band.get("x"), band.get("width")) == ("-52", "104")
    assert {"a", "none", "b", "half"} <= set(words(root))


def test_a_forest_plot_describes_its_rows_to_screen_readers() -> None:
    rows = [IntervalRow("a", 0.5, (0.25, None), "good"), IntervalRow("b", 0.1, None, "good")]
    root = ElementTree.fromstring(forest_plot(rows, title="t", axis_title="dark current"))
    assert root.get("aria-label") == "a: dark current 0.50 [0.25, open]; b: dark current 0.10."


def test_a_narrow_forest_plot_has_names_and_figures_above_its_intervals() -> None:
    name = "changes beyond repeats, edited in the beginning of a long run"
    rows = [
        IntervalRow(name, 0.5, (0.25, 0.75), "good", text="0.10 → 0.60 undecided"),
        IntervalRow("b", 0.5, (0.25, 0.75), "bad", text="alike"),
    ]
    root = ElementTree.fromstring(forest_plot(rows, title="t", label="l", sides=("A", "B"), narrow=True))
    assert float(root.get("width") or 0) < 340
    places = {
        text.text: (float(text.get("x") or 0), float(text.get("y") or 0)) for text in parts(root, "text")
    }
    lines = ["changes beyond repeats, edited in the", "beginning of a long run", "0.10 → 0.60 undecided"]
    heights = [places[line][1] for line in lines]
    dots = [float(dot.get("cy") or 0) for dot in parts(root, "circle")]
    assert [*heights, dots[0], places["b"][1], places["alike"][1], dots[1]] == sorted(
        [*heights, dots[0], places["b"][1], places["alike"][1], dots[1]]
    )
    assert {places[line][0] for line in (*lines, "b", "alike")} == {0.0}
