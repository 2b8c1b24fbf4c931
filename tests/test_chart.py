"""Drawings as SVG: places of marks by hand, axes, what is refused, and what hostile words can not do."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.datasheet.render.html.drawing.chart import (
    ROLES,
    colour,
    draw,
    layer,
    mark,
    rate_axis,
    root_axis,
)
from steelyard.datasheet.render.html.drawing.lettering import lettered, shortened, text_width
from steelyard.datasheet.render.html.drawing.scale import Names, Numbers, round_values, scale_of, value_labels
from steelyard.datasheet.render.html.drawing.spec import Spec
from steelyard.datasheet.render.html.drawing.svg import element, number

SPACE = "{http://www.w3.org/2000/svg}"
few = settings(max_examples=80, deadline=None)
PLAIN: Spec = {"type": "quantitative", "scale": {"domain": [0, 10]}, "axis": None}
X, Y = {"field": "x", **PLAIN}, {"field": "y", **PLAIN}
TEXT: Spec = {"field": "text", "type": "nominal"}


def drawing(*layers: Spec, width: int = 100, height: int = 50, **words: str) -> ElementTree.Element:
    named = {"title": "A title", "label": "judge: 0.5", **words}
    return ElementTree.fromstring(draw(layers, width=width, height=height, **named))


def parts(root: ElementTree.Element, tag: str) -> list[ElementTree.Element]:
    return list(root.iter(f"{SPACE}{tag}"))


def words(root: ElementTree.Element) -> list[str]:
    return [part.text or "" for part in parts(root, "text")]


# Marks, by hand: 100 pixels for 0 to 10 across, 50 for 0 to 10 upwards.


def test_points_stand_where_their_values_are() -> None:
    rows = [{"x": 0, "y": 0}, {"x": 10, "y": 10}, {"x": 2.5, "y": 4}]
    root = drawing(layer(rows, mark("point", size=100, filled=True, color=colour("bad")), x=X, y=Y))
    circles = [(part.get("cx"), part.get("cy"), part.get("r")) for part in parts(root, "circle")]
    assert circles == [("0", "50", "5"), ("100", "0", "5"), ("25", "30", "5")]
    assert {part.get("fill") for part in parts(root, "circle")} == {"var(--bad)"}
    assert parts(root, "circle")[0].get("stroke") is None


def test_a_hollow_point_has_an_edge_and_the_colour_of_its_row() -> None:
    by_word = {
        "field": "word",
        "type": "nominal",
        "scale": {"domain": ["a", "b"], "range": ["square", "diamond"]},
    }
    literal = {"field": "ink", "type": "nominal", "scale": None}
    rows = [
        {"x": 5, "y": 5, "word": word, "ink": colour(role)} for word, role in (("a", "good"), ("b", "wait"))
    ]
    root = drawing(layer(rows, mark("point", size=100, angle=90), x=X, y=Y, shape=by_word, color=literal))
    square, diamond = parts(root, "path")
    assert (square.get("d"), diamond.get("d")) == ("M-5,-5L5,-5L5,5L-5,5Z", "M-5,0L0,-5L5,0L0,5Z")
    assert (square.get("stroke"), diamond.get("stroke")) == ("var(--good)", "var(--wait)")
    assert (square.get("fill"), square.get("stroke-width")) == ("none", "2")
    assert square.get("transform") == "translate(50,25) rotate(90.0)"


def test_a_path_of_ones_own_is_as_large_as_a_shape() -> None:
    root = drawing(layer([{"x": 5, "y": 5}], mark("point", shape="M0,-1L1,1Z", size=400), x=X, y=Y))
    (path,) = parts(root, "path")
    assert path.get("transform") == "translate(50,25) scale(10.00)"
    assert path.get("stroke-width") == "0.200"


@pytest.mark.parametrize(
    ("row", "channels", "path"),
    [
        ({"x": 5}, {"x": X}, "M50,0L50,50"),
        ({"y": 4}, {"y": Y}, "M0,30L100,30"),
        ({"x": 1, "to": 3, "y": 10}, {"x": X, "x2": {"field": "to"}, "y": Y}, "M10,0L30,0"),
        ({"x": 1, "y": 2, "to": 8}, {"x": X, "y": Y, "y2": {"field": "to"}}, "M10,40L10,10"),
    ],
)
def test_rules_go_across_the_plot_or_between_two_values(row: Spec, channels: Spec, path: str) -> None:
    root = drawing(layer([row], mark("rule", strokeDash=[4, 3], strokeCap="round"), **channels))
    (rule,) = parts(root, "path")
    assert rule.get("d") == path
    assert (rule.get("stroke"), rule.get("stroke-dasharray")) == ("var(--muted)", "4 3")
    assert (rule.get("stroke-width"), rule.get("stroke-linecap")) == ("1", "round")


def test_a_rectangle_fills_what_is_not_said() -> None:
    band = layer([{"x": 2, "to": 1}], mark("rect", opacity=0.12, cornerRadius=3), x=X, x2={"field": "to"})
    (rect,) = parts(drawing(band, layer([{"y": 1}], mark("rule"), y=Y)), "rect")
    assert [rect.get(name) for name in ("x", "y", "width", "height", "rx")] == ["10", "0", "10", "50", "3"]
    assert (rect.get("fill"), rect.get("opacity"), rect.get("stroke")) == ("var(--accent)", "0.12", None)


def test_a_line_goes_from_left_to_right_unless_told_an_order() -> None:
    rows = [
        {"x": 10, "y": 0, "n": 0},
        {"x": 0, "y": 0, "n": 1},
        {"x": 5, "y": 10, "n": 2},
        {"x": None, "y": 1},
    ]
    (line,) = parts(drawing(layer(rows, mark("line"), x=X, y=Y)), "path")
    assert (line.get("d"), line.get("fill")) == ("M0,50L50,0L100,50", "none")
    (line,) = parts(drawing(layer(rows, mark("line"), x=X, y=Y, order={"field": "n"})), "path")
    assert line.get("d") == "M100,50L0,50L50,0"
    assert parts(drawing(layer([], mark("line"), x=X, y=Y)), "path") == []


def test_rows_without_a_place_are_not_drawn() -> None:
    rows = [{"x": value, "y": 1, "text": "t"} for value in (None, float("nan"), float("inf"))]
    for drawn, channels in ((mark("point"), {}), (mark("text"), {"text": TEXT})):
        root = drawing(layer([*rows, {"y": 1, "text": "t"}], drawn, x=X, y=Y, **channels))
        assert list(root.iter())[3:] == []


def test_texts_have_their_line_and_their_side() -> None:
    rows = [{"x": 5, "y": 5, "text": "word"}, {"x": 5, "y": 5, "text": ""}]
    drawn = mark("text", align="right", baseline="top", dx=3, dy=-2, fontSize=10, fontWeight=600)
    (text,) = parts(drawing(layer(rows, drawn, x=X, y=Y, text=TEXT)), "text")
    assert (text.get("x"), text.get("y")) == ("53", "30.9")
    assert (text.get("text-anchor"), text.get("font-weight"), text.get("fill")) == (
        "end",
        "600",
        "var(--ink)",
    )
    (text,) = parts(drawing(layer(rows, mark("text", x=0), y=Y, text=TEXT)), "text")
    assert (text.get("x"), text.get("y"), text.get("text-anchor")) == ("0", "28.9", "middle")


# The sheet.


def test_the_sheet_is_as_large_as_what_stands_on_it() -> None:
    bare = drawing(layer([], mark("point"), x=X, y=Y))
    assert (bare.get("width"), bare.get("height"), bare.get("viewBox")) == ("108", "58", "0 0 108 58")
    beside = [{"x": 10, "y": 5, "text": "a word at the right"}]
    wide = drawing(layer(beside, mark("text", align="left"), x=X, y=Y, text=TEXT))
    assert int(wide.get("width") or 0) >= 108 + text_width("a word at the right", 13) - 4


def test_a_drawing_says_what_it_is_and_what_is_in_it() -> None:
    root = drawing(layer([], mark("point"), x=X, y=Y), title='<b>"&', label="α < β & 'γ'")
    assert root[0].tag == f"{SPACE}title"
    assert root[0].text == '<b>"&'
    assert (root.get("role"), root.get("aria-label")) == ("img", "α < β & 'γ'")


@few
@given(st.text(), st.text(min_size=1))
def test_words_stay_words(text: str, name: str) -> None:
    y = {"field": "name", "type": "nominal", "sort": None, "axis": {"title": text}}
    rows = [{"x": 1, "name": name, "text": text}]
    markup = draw([layer(rows, mark("text"), x=X, y=y, text=TEXT)], width=9, height=9, title=text, label=text)
    root = ElementTree.fromstring(markup.encode("utf-8", "surrogatepass").decode("utf-8", "replace"))
    assert {part.tag for part in root.iter()} <= {
        SPACE + tag for tag in ("svg", "title", "g", "text", "path")
    }
    assert set(root.attrib) == {"width", "height", "viewBox", "role", "aria-label"}


def test_the_same_layers_are_the_same_bytes_and_only_roles_are_colours() -> None:
    rows = [{"at": n / 7, "judge": f"judge {n}"} for n in range(5)]
    y = {"field": "judge", "type": "nominal", "axis": {"title": None}}
    layers = [layer(rows, mark("point"), x=rate_axis("at", "rate"), y=y)]
    first, second = (draw(layers, width=200, height=90, title="t", label="l") for _ in range(2))
    assert first == second
    assert set(re.findall(r'(?:fill|stroke)="([^"]+)"', first)) <= {
        "none",
        *(f"var(--{role})" for role in ROLES),
    }


# Axes and scales.


def test_an_axis_has_its_marks_labels_and_title() -> None:
    root = drawing(layer([{"at": 0.5}], mark("rule"), x=rate_axis("at", "share of calls")), width=200)
    assert words(root) == ["0", "0.25", "0.5", "0.75", "1", "share of calls"]
    grid = [part for part in parts(root, "path") if part.get("stroke") == "var(--grid)"]
    assert [part.get("d") for part in grid][:2] == ["M0.5,0V50", "M50.5,0V50"]
    ticks = [part for part in parts(root, "path") if part.get("d", "").endswith("V54")]
    assert len(ticks) == 5


def test_names_stand_in_their_order_from_the_top() -> None:
    rows = [{"name": name, "x": 1} for name in ("b", "c", "a")]

    def shown(**said: object) -> list[str]:
        y = {"field": "name", "type": "nominal", "axis": {"title": None}, **said}
        return words(drawing(layer(rows, mark("point"), x=X, y=y)))

    assert shown() == ["a", "b", "c"]
    assert shown(sort=None) == ["b", "c", "a"]
    assert shown(sort=["c", "b"]) == ["c", "b", "a"]
    assert shown(sort="descending") == ["c", "b", "a"]
    assert shown(scale={"domain": ["a", "z"]}) == ["a", "z", "b", "c"]
    assert Names(("a", "b"), 40).place("b") == 30
    assert Names(("a", "b"), 40).place("c") is None


def test_labels_that_would_touch_are_thinned_and_long_ones_cut() -> None:
    axis = {"title": None, "values": list(range(11)), "grid": False}
    root = drawing(layer([{"x": 1}], mark("rule"), x={**X, "axis": axis}), width=60)
    assert words(root) == ["0", "4", "8"]
    y = {"field": "name", "type": "nominal", "axis": {"title": None, "labelLimit": 60}}
    (label,) = words(
        drawing(layer([{"name": "a name that is far too long", "x": 1}], mark("point"), x=X, y=y))
    )
    assert label.endswith("…")
    assert text_width(label, 12) <= 60
    assert shortened("short", 12, 0) == "short"
    assert shortened("mmmm", 12, 5) == "…"


def test_an_axis_keeps_the_room_that_it_asks_for() -> None:
    axis = {"title": "t", "ticks": False, "domain": False, "minExtent": 90, "labelColor": colour("ink")}
    root = drawing(
        layer(
            [{"name": "a", "x": 1}], mark("point"), x=X, y={"field": "name", "type": "nominal", "axis": axis}
        )
    )
    (plot,) = parts(root, "g")
    left = float(re.findall(r"translate\(([\d.]+)", plot.get("transform") or "")[0])
    assert left >= 4 + 90 + 8 + 13 * 0.8
    assert [part.get("fill") for part in parts(root, "text")] == ["var(--ink)", "var(--ink)"]
    assert all(part.get("stroke") == "var(--accent)" for part in parts(root, "circle"))


def test_roots_and_logarithms_by_hand() -> None:
    roots = scale_of("x", [layer([], mark("point"), x=root_axis("at", "t"))], 100)
    assert isinstance(roots, Numbers)
    assert [roots.place(value) for value in (0, 0.25, 1)] == [0, 50, 100]
    assert roots.place(-0.25) == -50
    log = scale_of(
        "y", [layer([{"y": 30}, {"y": 200}], mark("point"), y={"field": "y", "scale": {"type": "log"}})], 100
    )
    assert isinstance(log, Numbers)
    assert (log.start, log.end) == (10, 1000)
    assert (log.place(100), log.place(0), log.ticks(None)) == (50, None, [10, 100, 1000])
    assert Numbers(1, 10, 9, False, "log").ticks(None) == [1, 2, 5, 10]


def test_without_a_domain_an_axis_reaches_round_values_and_zero() -> None:
    def ends(*values: float, **said: object) -> tuple[float, float]:
        encoding = {"field": "v", **({"scale": said} if said else {})}
        scale = scale_of("x", [layer([{"v": value} for value in values], mark("point"), x=encoding)], 200)
        assert isinstance(scale, Numbers)
        return scale.start, scale.end

    assert ends(3, 9.7) == (0, 10)
    assert ends(-0.31, 0.2) == pytest.approx((-0.35, 0.2))
    assert ends(3, 9.7, zero=False, nice=False) == (3, 9.7)
    assert ends() == (0, 1)
    assert ends(0) == (-0.5, 0.5)
    root = drawing(layer([{"v": 3}], mark("rule"), x={"field": "v"}), width=200)
    assert words(root) == ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0", "v"]


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
    ("values", "form", "texts"),
    [
        ([0, 0.25, 0.5, 1], ".2~f", ["0", "0.25", "0.5", "1"]),
        ([-0.5, 0, 0.5], "+.2~f", ["−0.5", "0", "+0.5"]),
        ([0, 0.2, 1], None, ["0.0", "0.2", "1.0"]),
        ([1000, 20000], None, ["1,000", "20,000"]),
        ([0.5, 0.25], ".0%", ["50%", "25%"]),
        ([100, 0.1], "~f", ["100", "0.1"]),
        ([-0.0], ".1f", ["0.0"]),
    ],
)
def test_labels_of_values(values: list[float], form: str | None, texts: list[str]) -> None:
    assert value_labels(values, form) == texts


# What is refused.

ENCODED = {"x": X, "y": Y}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            layer([], mark("arc"), **ENCODED),
            "mark: found 'arc', expected one of rect, rule, line, point, text",
        ),
        (layer([], mark("line", interpolate="basis"), **ENCODED), "mark line: found 'interpolate', expected"),
        (layer([], mark("point"), **ENCODED, tooltip=TEXT), "channels of a point: found 'tooltip', expected"),
        (layer([], mark("point"), x={**X, "bin": True}, y=Y), "channel x: found 'bin', expected"),
        (layer([], mark("point"), x={**X, "axis": {"labelExpr": "1"}}, y=Y), "axis of x: found 'labelExpr'"),
        (
            layer([], mark("point"), x={**X, "scale": {"type": "pow"}}, y=Y),
            "scale of x: found 'pow', expected",
        ),
        (layer([], mark("point"), x={**X, "type": "temporal"}, y=Y), "type of x: found 'temporal', expected"),
        (layer([], mark("text", align="middle"), **ENCODED, text=TEXT), "align of a text: found 'middle'"),
        (layer([{"x": 1, "y": 1}], mark("point", shape="star"), **ENCODED), "shape of a point: found 'star'"),
        (layer([{"x": 1, "y": 1}], mark("rule"), **ENCODED), "channels of a rule: found x and y alone"),
        ({**layer([], mark("point"), **ENCODED), "transform": []}, "layer: found 'transform', expected"),
        (layer([], mark("point"), x={**X, "axis": {"format": "d"}}, y=Y), "format of an axis: found 'd'"),
        (layer([], mark("point"), x={**X, "axis": {"values": [1], "labels": []}}, y=Y), ""),
        (
            layer([], mark("point"), x={**X, "axis": {"values": [1], "labels": ["a", "b"]}}, y=Y),
            "labels of an axis",
        ),
        (
            layer([], mark("rule"), x={**X, "scale": {"type": "log", "domain": [0, 1]}}),
            "scale of x: found 'log' from 0",
        ),
    ],
)
def test_what_is_not_drawn_is_refused_in_a_sentence(spec: Spec, message: str) -> None:
    if not message:
        drawing(spec)
        return
    with pytest.raises(ValueError, match=re.escape(message)):
        drawing(spec)


def test_a_colour_is_a_role_of_the_style_sheet() -> None:
    assert colour("series-8") == "var(--series-8)"
    with pytest.raises(KeyError, match="found 'red', expected one of ink"):
        colour("red")


def test_numbers_are_short() -> None:
    texts = [number(value) for value in (1, 1.005, -0.001, 12.345678, -3.5)]
    assert texts == ["1", "1", "0", "12.35", "-3.5"]
    assert element("a", b_c=None, d=1.0) == '<a d="1"/>'
    assert lettered("x", (1, 2), colour="c", size=10, upwards=True).box.top == pytest.approx(
        2 - 10 * 0.63 / 2
    )
