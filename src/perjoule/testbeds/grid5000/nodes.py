"""The names of nodes: "taurus-7.lyon.grid5000.fr"."""


def short_name(node: str) -> str:
    """Return "taurus-7" of "taurus-7.lyon.grid5000.fr"."""
    return node.partition(".")[0]


def cluster_of(node: str) -> str:
    """Return "taurus" of "taurus-7"."""
    return short_name(node).rpartition("-")[0]


def number_of(node: str) -> int:
    """Return 7 of "taurus-7"; 0 of a name without a number."""
    digits = short_name(node).rpartition("-")[2]
    return int(digits) if digits.isdecimal() else 0
