"""Numbers as text, by one rule wherever they are printed: tables, figures, pages and messages show the
same digits.
"""

from math import floor, isfinite, log10
from statistics import median

from perjoule.model.results import Interval

WIDE_RATIO = 1 / 3  # half an interval over the mean, above which the two summarise nothing
NOTHING = 1e-9  # in the printed unit: what rounding errors leave of a zero
SMALL = 0.1  # below it, `number` has less than three digits that count
NARROW = 0.04  # width of a ratio's interval, below which two decimals would hide it


def number(value: float) -> str:
    """Print a number with three or four significant digits, never in powers of ten.

    A number that rounds to 1, 100 or 1000 has their digits: 0.9999999 is "1.00", like 1, and 99.999 is
    "100.0". Zero is "0", without a sign; a number that only rounds to it is "0.000".
    """
    if abs(value) < NOTHING:
        return "0"
    digits = next(
        (digits for digits, least in ((0, 1000), (1, 100), (2, 1)) if round(abs(value), digits + 1) >= least),
        3,
    )
    return f"{value:z.{digits}f}"


def any_number(value: float) -> str:
    """Print a number of which nothing is known, not even its size: like `number`, but a small one with
    three digits.
    """
    return number(value) if abs(value) >= SMALL or abs(value) < NOTHING else f"{value:.3g}"


def estimate(value: float) -> str:
    """Print what is assumed, fitted or planned: at most three digits, large numbers in groups of three,
    "13 400".
    """
    return f"{value:.3g}" if abs(value) < 999.5 else f"{float(f'{value:.3g}'):,.0f}".replace(",", " ")


def with_band(value: float, low: float, high: float) -> str:
    """Print an estimate with its band, all with the decimals of its three digits: "2.02 (0.58–2.46)"."""
    digits = max(0, 2 - floor(log10(value))) if value > NOTHING else 0
    middle_text, *ends = (
        estimate(end) if value >= 999.5 else f"{end:,.{digits}f}".replace(",", " ")
        for end in (value, low, high)
    )
    return f"{middle_text} ({'–'.join(ends)})"


def with_interval(interval: Interval, per: float = 1.0, *, by_median: bool = False) -> str:
    """Print a mean with half its 95 % interval; "?" for one repetition.

    If the interval is wider than a third of the mean on either side, few repetitions scatter too much, or in
    two modes, for mean and interval to mean anything: then the median and the range of all repetitions. So
    too if `by_median`, as for rows that `statistics.modes.summarised_by_median` names.
    """
    half = (interval.high - interval.low) / 2
    if by_median or (wide(interval) and half / per >= NOTHING):
        return with_repetitions(interval, per)
    return with_half(interval.mean / per, half / per)


def with_half(mean: float, half: float) -> str:
    """Print a mean with half its interval, with as many decimals; "?" if that is unknown."""
    if not isfinite(half):
        return f"{mean:z.{_usual_decimals(mean)}f} ± ?"
    digits = _decimals(mean, half)
    return f"{mean:z.{digits}f} ± {half:.{digits}f}"


def wide(interval: Interval) -> bool:
    """Whether an interval is too wide for a mean: half of it is more than a third of the mean."""
    half = (interval.high - interval.low) / 2
    return isfinite(half) and half > WIDE_RATIO * abs(interval.mean)


def with_repetitions(interval: Interval, per: float = 1.0) -> str:
    """Print the median, followed by the lowest and the highest of the repetitions, with the decimals that half
    their range carries: "402 (110–412)".
    """
    lowest, middle_value, highest = (of(interval.values) / per for of in (min, median, max))
    digits = _decimals(middle_value, (highest - lowest) / 2)
    return f"{middle_value:z.{digits}f} ({lowest:z.{digits}f}–{highest:z.{digits}f})"


def middle(interval: Interval, per: float = 1.0) -> str:
    """Print the median of the repetitions."""
    return number(median(interval.values) / per)


def _decimals(value: float, half: float) -> int:
    """Return the usual decimals of a value, or as many more as the first digit of a small `half` needs, or
    as few as two digits of a large one.
    """
    usual = _usual_decimals(value)
    if not half:
        return usual
    needed = next((digits for digits in range(usual, usual + 3) if round(half, digits) > 0), usual)
    return min(needed, max(0, 1 - floor(log10(half))))


def _usual_decimals(value: float) -> int:
    """Return the decimals of `number(value)`, or of three digits of a small value."""
    if NOTHING <= abs(value) < SMALL:
        return 2 - floor(log10(abs(value)))
    return len(number(value).partition(".")[2])


def like(value: float, text: str) -> str:
    """Print a number with as many decimals as the first of a text: an uncertainty beside its mean."""
    return f"{value:z.{len(text.split()[0].partition('.')[2])}f}"


def span_text(interval: Interval | None, per: float = 1.0) -> str:
    """Print a mean with the ends of its interval, "1.23 (1.10 to 1.36)", or alone after one repetition;
    "–" if unknown.
    """
    if interval is None:
        return "–"
    ends = (
        f" ({number(interval.low / per)} to {number(interval.high / per)})"
        if isfinite(interval.high - interval.low)
        else ""
    )
    return f"{number(interval.mean / per)}{ends}"


def ratio_text(interval: Interval) -> str:
    """Print a ratio with its interval: two decimals, or three where the interval is narrow."""
    digits = 3 if isfinite(interval.high) and interval.high - interval.low < NARROW else 2
    ends = f" ({interval.low:.{digits}f} to {interval.high:.{digits}f})" if isfinite(interval.high) else ""
    return f"{interval.mean:.{digits}f}{ends}"


def above_text(interval: Interval) -> str:
    """Print a ratio as percent above 1, with its interval: "+12 % (+9.1 to +15)"."""
    percents = (100 * (value - 1) for value in (interval.mean, interval.low, interval.high))
    mean, low, high = (f"{percent:+.{0 if round(abs(percent), 1) >= 10 else 1}f}" for percent in percents)
    return f"{mean} % ({low} to {high})" if isfinite(interval.high) else f"{mean} %"


def percent(share: float, decimals_count: int = 0, *, sign: bool = False) -> str:
    """Print a share in percent, without the symbol: "12", with a decimal "12.3", with a sign "+12"."""
    return f"{100 * share:{'+' if sign else ''}.{decimals_count}f}"


def uncertainty_text(ratio: float) -> str:
    """Print a relative uncertainty or error in percent, without the symbol, with two digits that count:
    "3.0", "12", "0.65".
    """
    return f"{100 * ratio:.0f}" if ratio >= 0.0995 else f"{100 * ratio:#.2g}"


def p_text(p: float) -> str:
    """Print a p-value."""
    return "< 0.001" if p < 1e-3 else f"{p:.2g}"
