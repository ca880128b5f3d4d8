"""A second calculation of what perjoule prints, from the files of a results folder and the definitions in
docs/explanations.

It imports nothing of perjoule (decision 0017): what it shares with the code under check are files and
definitions.
"""
