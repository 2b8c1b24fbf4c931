"""The geometry of charts: places of labels, scales, limits, error bars in cells, names that fit."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_datasheet import rate
from steelyard.core.text import LONGEST, short_names
from steelyard.datasheet.render.html.charts.heatmaps import BOLD, HeatmapGrid
from steelyard.datasheet.render.html.drawing.chart import SeriesStyle
from steelyard.datasheet.render.html.drawing.forest_plot import interval_bar
from steelyard.datasheet.render.html.drawing.scatter import (
    HEIGHT,
    LETTER,
    LINE,
    WIDTH,
    LimitLines,
    PlacedLabel,
    RatePlane,
    ScatterPoint,
    place_labels,
    spread_labels,
)
from steelyard.datasheet.render.html.drawing.svg import Box
from steelyard.metrics.estimate import Estimate, Interval

few = settings(max_examples=60)
rates = st.floats(0, 1)
pixels = st.tuples(st.floats(0, WIDTH), st.floats(0, HEIGHT))


def box_of(label: PlacedLabel) -> Box:
    size = LETTER * len(label.text)
    left = {"left": label.x, "right": label.x - size, "center": label.x - size / 2}[label.align]
    return Box(left, label.y - LINE / 2, left + size, label.y + LINE / 2)


# Labels.


def test_areas_by_hand() -> None:
    box = Box(0, 0, 10, 10)
    assert box.overlap(Box(5, 5, 20, 20)) == 25
    assert box.overlap(Box(2, 2, 4, 4)) == 4
    assert box.overlap(Box(10, 0, 20, 10)) == 0
    assert box.overlap(Box(20, 20, 30, 30)) == 0


@pytest.mark.slow
@few
@given(st.lists(st.tuples(pixels, st.text("abc", min_size=1, max_size=8)), max_size=8))
def test_every_point_has_its_label_and_the_places_are_the_same_again(
    named: list[tuple[tuple[float, float], str]],
) -> None:
    points = [(x, y, text) for (x, y), text in named]
    labels = place_labels(points, width=WIDTH, height=HEIGHT)
    assert [label.text for label in labels] == [text for _, _, text in points]
    assert labels == place_labels(points, width=WIDTH, height=HEIGHT)


def test_a_lone_label_stands_at_the_right_of_its_point_and_at_the_left_near_the_edge() -> None:
    (label,) = place_labels([(100, 100, "judge")], width=WIDTH, height=HEIGHT)
    assert (label.align, label.y, label.far) == ("left", 100, False)
    assert label.x > 100
    (edge,) = place_labels([(WIDTH - 5, 100, "judge")], width=WIDTH, height=HEIGHT)
    assert edge.align == "right"


@pytest.mark.parametrize("count", [2, 4, 6, 8])
def test_labels_of_one_place_cover_neither_each_other_nor_the_mark(count: int) -> None:
    labels = place_labels([(200, 190, f"judge{n}") for n in range(count)], width=WIDTH, height=HEIGHT)
    boxes = [box_of(label) for label in labels]
    mark = Box(191, 181, 209, 199)
    for number, box in enumerate(boxes):
        assert box.overlap(mark) == 0
        assert all(box.overlap(other) == 0 for other in boxes[:number])


def test_a_label_makes_way_for_what_is_to_be_avoided() -> None:
    free = box_of(place_labels([(100, 100, "judge")], width=WIDTH, height=HEIGHT)[0])
    (moved,) = place_labels([(100, 100, "judge")], width=WIDTH, height=HEIGHT, avoid=[free])
    assert box_of(moved).overlap(free) == 0


@few
@given(st.lists(st.floats(-50, 430), max_size=12))
def test_lines_of_text_are_moved_apart_and_keep_their_order(heights: list[float]) -> None:
    """Twelve lines of sixteen pixels have room in 380."""
    placed = spread_labels(heights, low=0, high=HEIGHT)
    assert len(placed) == len(heights)
    assert all(-1e-6 <= height <= HEIGHT + 1e-6 for height in placed)
    order = sorted(range(len(heights)), key=lambda n: (heights[n], n))
    ranked = [placed[n] for n in order]
    assert ranked == sorted(ranked)
    assert all(lower - upper > LINE - 1e-6 for upper, lower in pairwise(ranked))


@few
@given(st.lists(st.integers(0, 18), max_size=8, unique=True))
def test_lines_that_have_room_stay_where_they_are(places: list[int]) -> None:
    heights = [20.0 * number for number in places]
    assert spread_labels(heights, low=0, high=HEIGHT) == pytest.approx(heights)


def test_two_lines_part_evenly_and_more_than_fit_stand_evenly() -> None:
    assert spread_labels([100.0, 100.0], low=0, high=HEIGHT) == [92.0, 108.0]
    assert spread_labels([110.0, 100.0, 300.0], low=0, high=HEIGHT) == [113.0, 97.0, 300.0]
    assert spread_labels([0.0] * 3, low=0, high=HEIGHT) == [0.0, 16.0, 32.0]
    assert spread_labels([50.0] * 5, low=0, high=32) == [0.0, 8.0, 16.0, 24.0, 32.0]
    assert spread_labels([], low=0, high=HEIGHT) == []


@few
@given(
    st.lists(st.integers(0, 380), min_size=1, max_size=6),
    st.lists(st.integers(-9, 9), min_size=6, max_size=6),
)
def test_no_other_places_are_nearer(heights: list[int], moves: list[int]) -> None:
    """Whoever moves a line within what is allowed moves it further away, in the sum of squares."""
    placed = spread_labels([float(height) for height in heights], low=0, high=HEIGHT)
    order = sorted(range(len(heights)), key=lambda n: (heights[n], n))
    other = {n: placed[n] + move for n, move in zip(order, moves, strict=False)}
    ranked = [other[n] for n in order]
    if ranked[0] < 0 or ranked[-1] > HEIGHT or any(b - a < LINE for a, b in pairwise(ranked)):
        return

    def far(at: list[float]) -> float:
        return sum((a - b) ** 2 for a, b in zip(at, heights, strict=True))

    assert far(placed) <= far([other[n] for n in range(len(heights))]) + 1e-6


# Scales.


@few
@given(rates, rates, st.booleans())
def test_rates_lie_within_the_plane(x: float, y: float, root: bool) -> None:
    across, down = RatePlane("x", "y", root).at((x, y))
    assert 0 <= across <= WIDTH
    assert 0 <= down <= HEIGHT


def test_planes_by_hand() -> None:
    plain, roots = RatePlane("x", "y"), RatePlane("x", "y", root=True)
    assert plain.at((0.25, 0.25)) == (WIDTH / 4, HEIGHT * 3 / 4)
    assert roots.at((0.25, 0.25)) == (WIDTH / 2, HEIGHT / 2)
    assert plain.at((0, 1)) == roots.at((0, 1)) == (0, 0)
    # A value below zero lies as far on the other side.
    assert roots.at((-0.25, 0)) == (-WIDTH / 2, HEIGHT)


@few
@given(st.lists(rates, min_size=2, max_size=6, unique=True))
def test_square_roots_keep_order_and_draw_small_rates_apart(values: list[float]) -> None:
    plain, roots = RatePlane("x", "y").x, RatePlane("x", "y", root=True).x
    ranked = sorted(values)
    assert [roots(value) for value in ranked] == sorted(roots(value) for value in ranked)
    assert all(roots(value) >= plain(value) - 1e-9 for value in ranked)


BASE: dict[str, str | float] = {"protocol": "base"}


def point(x: Estimate, y: Estimate) -> ScatterPoint:
    return ScatterPoint("J", x, y, SeriesStyle("series-1", "circle", "J", "J"))


def test_limits_are_those_of_the_declarations_and_of_the_first_that_has_one() -> None:
    limited = rate("J", "vacuum", "dark_current", BASE, 1, 10)
    part = rate("J", "vacuum", "dark_current", {**BASE, "slot": 1}, 1, 10)
    free = rate("J", "ladder", "tie_rate", BASE, 1, 10)
    assert LimitLines.of([point(free, free), point(limited, free)]) == LimitLines(0.10, None)
    assert LimitLines.of([point(part, free)]) == LimitLines(None, None)
    assert LimitLines(None, None).elements(RatePlane("x", "y")) == []
    assert LimitLines(None, None).boxes(RatePlane("x", "y")) == []


def test_a_limit_is_a_line_and_its_value() -> None:
    roots = RatePlane("x", "y", root=True)
    markup = "".join(each.markup for each in LimitLines(0.25, 0.5).elements(roots))
    assert re.findall(">(limit [^<]*)<", markup) == ["limit 0.25", "limit 0.5"]
    assert f'd="M{WIDTH / 2:g},{HEIGHT}L{WIDTH / 2:g},0"' in markup
    across, down = LimitLines(0.25, 0.25).boxes(roots)
    assert (across.left, across.top) == (WIDTH / 2, 0)
    assert (down.right, down.bottom) == (WIDTH, HEIGHT / 2)


# Error bars in table cells.


def numbers(svg: str) -> list[float]:
    """Ends of the interval, the limit where there is one, the point."""
    span = re.search(r'class="span" d="M([\d.]+) 4H([\d.]+)"', svg)
    point = re.search(r'cx="([\d.]+)"', svg)
    limit = re.search(r'class="limit" d="M([\d.]+) ', svg)
    assert span is not None
    assert point is not None
    return [float(span[1]), float(span[2]), *([float(limit[1])] if limit else []), float(point[1])]


def with_interval(low: float | None, high: float | None, **more: object) -> Estimate:
    whole = rate("J", "vacuum", "dark_current", BASE, 3, 10)
    return replace(whole, intervals=(Interval("wilson_cluster", low, high),), **more)


def test_a_bar_by_hand() -> None:
    assert numbers(interval_bar(with_interval(0.125, 0.5), "flagged")) == [12.5, 50.0, 10.0, 30.0]
    assert numbers(interval_bar(with_interval(0.125, 0.5))) == [12.5, 50.0, 30.0]
    assert 'class="bar flagged"' in interval_bar(with_interval(0.1, 0.5), "flagged")


def test_what_is_no_rate_has_no_bar() -> None:
    assert interval_bar(with_interval(0.1, 0.5, value=None)) == ""
    assert interval_bar(with_interval(0.1, 0.5, numerator=None)) == ""
    assert interval_bar(with_interval(0.1, 0.5, value=1.2)) == ""
    assert interval_bar(with_interval(0.1, 0.5, metric="net_slot_preference")) == ""


def test_a_word_can_not_leave_the_attribute() -> None:
    assert '"><script' not in interval_bar(with_interval(0.1, 0.5), '"><script>')


# Names.


@few
@given(st.lists(st.text("ab/", min_size=1, max_size=60), min_size=1, max_size=6, unique=True))
def test_short_names_fit_and_differ(names: list[str]) -> None:
    short = short_names(names)
    assert list(short) == names
    assert len(set(short.values())) == len(names)
    assert all(len(name) <= LONGEST + len("6: ") for name in short.values())
    if all(len(name) <= LONGEST for name in names):
        assert short == {name: name for name in names}


def test_names_are_cut_where_they_do_not_differ() -> None:
    tail = "x" * 30
    assert short_names([f"openai/one-{'m' * 12}", f"vllm/two-{'m' * 20}"]) == {
        f"openai/one-{'m' * 12}": f"one-{'m' * 12}",
        f"vllm/two-{'m' * 20}": f"two-{'m' * 20}",
    }
    assert short_names([f"a{tail}", f"b{tail}"])[f"a{tail}"] == f"a{tail}"[: LONGEST - 1] + "…"
    assert short_names([f"{tail}a", f"{tail}b"])[f"{tail}a"].endswith("a")
    same = [f"a{tail}{n}{tail}a" for n in range(2)]
    assert [short_names(same)[name][:3] for name in same] == ["1: ", "2: "]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("short", ["short"]),
        ("openai/gpt-4o", ["openai/", "gpt-4o"]),
        ("planted/rater?sensitivity=0.9", ["planted/", "rater?sensi…"]),
        ("vllm//models/m", ["vllm/", "/models/m"]),
        ("a judge with words", ["a judge with", "words"]),
    ],
)
def test_a_heading_breaks_after_its_provider(name: str, lines: list[str]) -> None:
    letters = 12
    grid = HeatmapGrid(["row"], [name], [], 1)
    vars(grid)["broad"] = int(letters * BOLD) + 5
    assert grid.heading(name) == lines
