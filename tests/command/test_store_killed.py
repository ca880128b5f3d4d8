"""A writer of results is killed (SIGKILL) again and again at random moments: nothing that it kept is lost
or doubled.
"""

import subprocess
import sys
from collections import Counter

from perjoule import store
from perjoule.store.journal import sha256

ROUNDS_COUNT, TRIALS_COUNT = 60, 500

# One process imports everything once and forks the writers; it kills each of them after a random time.
NURSERY = """
import os, random, signal, sys, time
from pathlib import Path
from perjoule import store
from perjoule.model import Channel, Clock, Record, Spec, Trial

rounds_count, trials_count = int(sys.argv[2]), int(sys.argv[3])
folder, told = Path(sys.argv[1]) / "results", os.open(Path(sys.argv[1]) / "told", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
spec = Spec("x", {}, "x")
channel = Channel("m", "h", "all", "power", "W", "instantaneous", "simulated")

def write(folder=folder, trials_count=trials_count, told=told):
    results = store.create(folder, "name = 'x'", "x")
    with results.hold():
        for n in range(1, trials_count + 1):
            trial = Trial(spec, spec, spec, (), 1, n)
            if trial.id in results.done():
                continue
            with results.attempt(trial) as attempt:
                for k in range(100):
                    attempt.sink.append(channel, float(k), float(n))
                (attempt.raw / "out").write_text("raw" * 10_000)
                attempt.keep(Record(trial, "valid", "", attempt.number, Clock(0, 0), 1.0, "", (), (), None, {}, {}))
            os.write(told, (trial.id + "\\n").encode())

nobody = os.open(os.devnull, os.O_WRONLY)
write(Path(sys.argv[1]) / "first", 1, nobody)  # what the first write imports (pandas, where it is)
began_s = time.monotonic()
write(Path(sys.argv[1]) / "second", 5, nobody)
most_s = time.monotonic() - began_s  # for 5 trials, however busy this machine is
dice = random.Random(7)
for number in range(4 * rounds_count):
    if number >= rounds_count and (folder.parent / "told").read_text().count("\\n") >= 10:
        break  # on a machine that is busier now than when it was timed, more rounds
    child = os.fork()
    if child == 0:
        write()
        os._exit(0)
    time.sleep(dice.uniform(0, most_s))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def test_nothing_that_was_kept_is_lost_or_doubled_by_many_kills(tmp_path):
    subprocess.run(
        [sys.executable, "-c", NURSERY, tmp_path, str(ROUNDS_COUNT), str(TRIALS_COUNT)],
        check=True,
        timeout=120,
    )
    results = store.open_results(tmp_path / "results")
    told = (tmp_path / "told").read_text().split()
    kept = Counter(record.trial.id for record in results.records())
    assert len(told) >= 10, "the writers were killed before they could keep anything: the test tests nothing"
    assert set(told) <= kept.keys()
    assert set(kept.values()) == {1}
    assert len(kept) - len(told) <= 4 * ROUNDS_COUNT  # at most one was kept and not told in each round
    with results.hold():
        pass
    on_disk = {path.parent.name for path in (tmp_path / "results" / "trials").glob("*/*")}
    assert on_disk == set(kept)
    for entry in results.entries():
        folder = results.folder_of_attempt(entry.trial, entry.attempt)
        assert {name: sha256(folder / name) for name in entry.files} == entry.files
        (series,) = results.series(results.record(entry))
        assert len(series.t_s) == 100
