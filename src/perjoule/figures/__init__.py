"""One file, one figure: each draws its input as a Vega-Lite specification (a plain dict), and computes
nothing.
"""
