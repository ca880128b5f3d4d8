"""Colours differ for everyone, and in print without colour.

G. M. Machado, M. M. Oliveira and L. A. F. Fernandes, A Physiologically-based Model for Simulation of Color
Vision Deficiency, IEEE TVCG 15 (2009), https://doi.org/10.1109/TVCG.2009.113, severity 1. Distances are those
of CIELAB; 2.3 is just noticeable.
"""

from itertools import combinations, pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from perjoule.figures.vega import DASHES, SHAPES, THEMES

Colour = NDArray[np.float64]
VISION = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])
RANGES = ("category", "component", "role", "piece")


def linear(colour: str) -> Colour:
    """sRGB without its transfer function."""
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str = "normal") -> Colour:
    ratios = XYZ @ np.clip(VISION[vision] @ linear(colour), 0, 1) / WHITE
    f = np.where(ratios > 0.008856, np.cbrt(ratios), 7.787 * ratios + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(one: str, other: str, vision: str) -> float:
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))


def grey(one: str, other: str) -> float:
    return abs(float(lab(one)[0] - lab(other)[0]))


def contrast(one: str, other: str) -> float:
    """Of WCAG 2, from 1 to 21."""
    dark, light = sorted(float((XYZ @ linear(colour))[1]) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", RANGES)
@pytest.mark.parametrize("vision", VISION)
def test_no_two_colours_look_alike(theme: str, name: str, vision: str) -> None:
    least = min(distance(*pair, vision) for pair in combinations(THEMES[theme]["range"][name], 2))
    assert least >= 12


@pytest.mark.parametrize("theme", THEMES)
def test_the_first_four_file_systems_are_apart_in_grey_too(theme: str) -> None:
    first = THEMES[theme]["range"]["category"][:4]
    assert min(grey(*pair) for pair in combinations(first, 2)) >= 10
    assert min(distance(*pair, vision) for pair in combinations(first, 2) for vision in VISION) >= 24


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["component", "role", "piece"])
def test_neighbours_in_a_stack_are_apart_in_grey(theme: str, name: str) -> None:
    assert min(grey(*pair) for pair in pairwise(THEMES[theme]["range"][name])) >= 20


@pytest.mark.parametrize("theme", THEMES)
def test_lines_and_points_stand_out_from_the_paper(theme: str) -> None:
    config = THEMES[theme]
    assert min(contrast(colour, config["background"]) for colour in config["range"]["category"]) >= 3
    assert contrast(config["axis"]["labelColor"], config["background"]) >= 4.5


@pytest.mark.parametrize("marks", [SHAPES, DASHES], ids=["shapes", "dashes"])
def test_of_35_names_no_two_look_alike(marks: list[object]) -> None:
    colours = THEMES["light"]["range"]["category"]
    assert len({(n % len(colours), n % len(marks)) for n in range(35)}) == 35
