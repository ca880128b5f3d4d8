"""Whatever comes from outside, changed at random: campaigns, imports, answers of meters, results folders,
bundles.

Nothing but perjoule's own errors may come of it, within 5 s and 500 MiB. Each input is drawn by a seed and
its number alone.
"""
