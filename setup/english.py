"""Find phrases that mark translated text, and name the better wording. Exit code 1 when there is one.

Usage: python setup/english.py [FILE...]; by default all code, tests and documents of the repository.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS, SUFFIXES = ("src", "docs", "examples", "benchmarks", "setup"), ("py", "toml", "md")
SCATTERED = ("tests/*.py", "src/*.js", "src/*.html", "*.md", "Makefile")
PLACES = (*(f"{folder}/*.{suffix}" for folder in FOLDERS for suffix in SUFFIXES), *SCATTERED)
NOT_OURS = {"setup/english.py", "tests/repository/test_english.py"}  # which have the signs themselves
RELEASED = re.compile(r"^## \d.*", re.MULTILINE | re.DOTALL)  # in the changelog: what was released stays as it was written
SIGNS = {
    r"(is|are|was|were|be|been) (told|said)\b(?! to [a-z])": 'name who reports it, or what is known: "fio reports", "is unknown"',
    r"(what|all) there is": 'name the things: "all drivers", "the valid values"',
    r"there is none": '"none", "is missing" or "has no ..."',
    r"(is|are) none of": '"is not one of", "is not in"',
    r"may be wrong by": '"uncertainty", "error"',
    r"anew": '"again"',
    r"(is|are) to be": '"must be", "should be"',
    r"passed over": '"skipped"',
    r"as asked": '"as configured", "as requested"',
    r"told apart": '"distinguished"',
    r"(hold|holds|held) (it|them|\w+s) against": '"compare with", "check against"',
    r"for all that": '"nevertheless"',
    r"beyond all": '"too large"',
    r"speaks? against": '"objection", "doubt", "limitation"',
    r"tells (of|no|its|their|when|what|it)": '"reports", "states"',
    r"what (is|was) asked": '"the request", "what was requested"',
    r"so that (nobody|no one)": '"so nobody", or name the effect',
    r"so many": '"this many", or name the number',
    r"(goes|went) on": '"continues", "keeps running"',
    r"at the (most|least)": '"at most", "at least"',
    r"asked (for|of)": '"requested", "configured", "polled"',
    r"(is|are) asked": '"is polled", "is queried", "is prompted"',
    r"of (its|their) own accord": '"by itself"',
    r"in (its|their) own words|in the words of": '"with its message", "in the format of"',
    r"says? of (it|them)sel(f|ves)": '"reports", "states"',
    r"the other way round": '"reversed", "vice versa"',
    r"all the same(?! (to|as|for))": '"nevertheless", "equal"',
    r"for want of|come what may|whence": '"for lack of", "whatever happens", "from which"',
    r"where there (is|are|was|were) (no|none)": '"without", "if ... is missing"',
    r"(lets?|letting) go of": '"releases", "closes"',
    r"in place of": '"instead of"',
    r"(?<!there )is no (?!longer|basis|reason|worse|more|less|\w+er\b)": '"is not a"',
    r"(is|are|was|were) of no": '"belongs to no", "has no"',
    r"for ever": '"forever"',
    r"(is|are) wanted": '"is needed", "is requested"',
    r"mend(s|ed|ing)?": '"fix"',
}
SIGN = re.compile("|".join(rf"(?P<s{n}>\b(?:{sign})\b)" for n, sign in enumerate(SIGNS)), re.IGNORECASE)
NAME = re.compile(r"(?<=\bdef )test_\w+")  # of a test: a sentence
BREAK = re.compile(r'[ ]?"[ ]*\n[ ]*[rbf]*"|\s*\n\s*(?:# ?|> ?)?|[ ]+')  # of a string in parts, of a comment or text, a space


def signs(text: str) -> list[tuple[int, str, str]]:
    """List the signs in a text, each as line, phrase and advice. A phrase may be broken over two lines."""
    text = NAME.sub(lambda name: name[0].replace("_", " "), text)
    flat: list[str] = []  # the text with each break as one space ...
    places: list[int] = []  # ... and where each of its characters was
    at = 0
    for gap in BREAK.finditer(text):
        flat += [*text[at : gap.start()], " "]
        places += range(at, gap.start() + 1)
        at = gap.end()
    flat += text[at:]
    places += range(at, len(text))
    advice = list(SIGNS.values())
    return [
        (text.count("\n", 0, places[found.start()]) + 1, found[0], advice[int(str(found.lastgroup)[1:])])
        for found in SIGN.finditer("".join(flat))
    ]


def ours() -> list[str]:
    """Name all code and documents of the repository."""
    done = subprocess.run(["git", "ls-files", *PLACES], cwd=ROOT, capture_output=True, text=True, check=True)
    kept = (name for name in done.stdout.splitlines() if name not in NOT_OURS)
    return [str(ROOT / name) for name in kept if (ROOT / name).exists()]  # git lists a file until its removal is staged


def main(names: list[str]) -> int:
    """Print each sign with its place and the better wording."""
    failed = False
    for name in names or ours():
        text = Path(name).read_text()
        for line, phrase, better in signs(RELEASED.sub("", text) if Path(name).name == "CHANGELOG.md" else text):
            failed = True
            print(f'{name}:{line}: "{phrase}" reads as translated; write {better}')
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
