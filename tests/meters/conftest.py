"""How what a plug says is held against what a simulator knows."""

import itertools

import numpy as np
import pytest


@pytest.fixture
def stepping():
    """A clock for a simulator's behaviour, on by 1/4 s whenever it is looked at, so that no load moves
    what is sent.
    """
    return itertools.count(0, 0.25).__next__


@pytest.fixture
def judge():
    """Hold each pair of watts and joules, said together, against a waveform since 0 s of the stepping
    clock; in their steps.
    """

    def judge(heard, truth, *, step_w, step_j):
        assert not [doubt for doubt in heard.doubts if "failed" in doubt]
        watts, joules = heard.of("power")[1], heard.of("energy")[1]
        moments = [n / 4 for n in range(10 * len(heard.samples))]
        true = np.array([(truth.power_w(t), truth.energy_j(0, t)) for t in moments]).T
        off = [
            np.abs((true[0] - w) / step_w) + np.abs((true[1] - j) / step_j)
            for w, j in zip(watts, joules, strict=True)
        ]
        assert np.nanmax([of.min() for of in off]) < 1.6
        assert (np.diff(joules) > 0).any()
        assert np.ptp(watts) > (truth.high_w - truth.low_w) / 2

    return judge
