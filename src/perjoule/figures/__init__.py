"""One file, one figure: each draws what it is given, as a Vega-Lite specification (a plain dict), and computes nothing."""
