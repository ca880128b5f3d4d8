"""How a meter's clock was aligned: its samples with the fitted load pattern, and the offset at each
pattern.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perjoule.figures.vega import FULL_WIDTH, Spec, titled
from perjoule.model import Series
from perjoule.store.patterns import LoadPattern, read_patterns
from perjoule.views.content import Content
from perjoule.views.view import View

PATTERNS_COUNT = 6  # in one figure


@dataclass(frozen=True)
class AlignedPattern:
    """One pattern in one meter: times (of the hosts' clock, from the pattern's start), samples and fit,
    all of shape (N,).
    """

    name: str  # "lmg, pattern 1"
    channel: str  # the offsets of one are joined by a line
    t_s: Sequence[float]
    watts: Sequence[float]
    fit_w: Sequence[float]
    at_s: float  # the hosts' time of the pattern, from the first one's
    offset_s: float
    standard_s: float


def alignment(patterns: Sequence[AlignedPattern], *, notes: Sequence[str] = ()) -> Spec:
    """Draw each pattern with its fit, and below them the offsets in ms with 95 % intervals and the line
    between them.
    """
    return titled(
        {"vconcat": [*(_pattern(pattern) for pattern in patterns), _offsets(patterns)], "spacing": 24},
        "Clock alignment",
        notes,
    )


def _pattern(pattern: AlignedPattern) -> Spec:
    rows = [
        {"t": round(t, 4), "watts": round(w, 4), "fit": round(f, 4)}
        for t, w, f in zip(pattern.t_s, pattern.watts, pattern.fit_w, strict=True)
    ]
    x: Spec = {"field": "t", "type": "quantitative", "title": "s, the hosts' clock", "scale": {"nice": False}}

    def y(name: str) -> Spec:
        return {"field": name, "type": "quantitative", "title": "W", "scale": {"zero": False}}

    return {
        "title": {"text": pattern.name, "fontSize": 13, "fontWeight": "bold", "frame": "group", "offset": 8},
        "width": FULL_WIDTH,
        "height": 120,
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "line", "interpolate": "step-before", "style": ["bound"]},
                "encoding": {"x": x, "y": y("fit")},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 22},
                "encoding": {
                    "x": x,
                    "y": y("watts"),
                    "tooltip": [{"field": "t"}, {"field": "watts"}, {"field": "fit"}],
                },
            },
        ],
    }


def _offsets(patterns: Sequence[AlignedPattern]) -> Spec:
    rows = [
        {
            "name": pattern.name,
            "channel": pattern.channel,
            "at": pattern.at_s,
            "offset": 1e3 * pattern.offset_s,
            "low": 1e3 * (pattern.offset_s - 1.96 * pattern.standard_s),
            "high": 1e3 * (pattern.offset_s + 1.96 * pattern.standard_s),
        }
        for pattern in patterns
    ]
    x: Spec = {
        "field": "at",
        "type": "quantitative",
        "title": "s since the first pattern",
        "scale": {"padding": 20},
    }
    axis: Spec = {"type": "quantitative", "title": "ms ahead", "scale": {"zero": False}}
    return {
        "width": FULL_WIDTH,
        "height": 120,
        "data": {"values": rows},
        "layer": [
            {
                "mark": {"type": "line", "style": ["bound"]},
                "encoding": {"x": x, "y": {"field": "offset", **axis}, "detail": {"field": "channel"}},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 2},
                "encoding": {"x": x, "y": {"field": "low", **axis}, "y2": {"field": "high"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80},
                "encoding": {
                    "x": x,
                    "y": {"field": "offset", **axis},
                    "tooltip": [{"field": "name"}, {"field": "offset", "title": "ms ahead", "format": ".1f"}],
                },
            },
        ],
    }


def alignments(patterns: Sequence[tuple[LoadPattern, Sequence[Series]]]) -> tuple[AlignedPattern, ...]:
    """Find each load pattern in each channel of power or energy recorded with it; channels that show none
    are left out.
    """
    from perjoule.energy.alignment import expected, offset

    aligned: list[AlignedPattern] = []
    for index, (load, series) in enumerate(patterns, start=1):
        for readings in series:
            if (
                readings.channel.quantity in ("power", "energy")
                and (shift := offset(readings, load.edges_s)) is not None
            ):
                t_s, watts, fit_w = expected(readings, load.edges_s, shift)
                times_s = t_s - shift.offset_s - load.edges_s[0]
                near = (times_s > -2) & (times_s < load.edges_s[-1] - load.edges_s[0] + 2)
                rounded = [[float(v) for v in values[near]] for values in (times_s, watts, fit_w)]
                at_s = shift.at_s - sum(patterns[0][0].edges_s) / len(patterns[0][0].edges_s)
                channel = readings.channel.name
                title = f"{channel}, pattern {index}"
                aligned.append(
                    AlignedPattern(
                        title,
                        channel,
                        rounded[0],
                        rounded[1],
                        rounded[2],
                        at_s,
                        shift.offset_s,
                        shift.uncertainty_s,
                    )
                )
    return tuple(aligned)


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if patterns := alignments(read_patterns(content.results.folder)):
        note = (
            "samples, with the load pattern's fit; below: how far the meter's clock is ahead, with 95 % "
            "intervals"
        )
        yield "alignment", alignment(patterns[:PATTERNS_COUNT], notes=[note, *content.notes])


VIEW = View(rank=220, figures=_figures)
