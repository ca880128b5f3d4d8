"""One file, one figure: a Vega-Lite specification of numbers that it is given."""
