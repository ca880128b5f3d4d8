"""What a campaign may ask salloc for beyond its own keys."""

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.testbeds.slurm import Slurm


def test_arguments_of_a_job_are_permitted() -> None:
    words = (
        "--qos=high",
        "--gres=gpu:a100:2",
        "--mem=64G",
        "--exclude=n[001-004],n7",
        "--nice",
        "--switches=1@60",
        "--contiguous",
    )
    assert drivers.build("testbeds", "slurm", {"arguments": [*words]}, to_run=True) == Slurm(arguments=words)


@pytest.mark.parametrize(
    "word",
    [
        *(
            "--uid=0",
            "--gid=0",
            "--chdir=/etc",
            "-D",
            "--bb=#x",
            "--bbf=/etc/x",
            "--bbf",
            "--get-user-env",
            "--reboot",
        ),
        *(
            "--container=/x",
            "--kill-command=x",
            "--no-shell",
            "--job-name=x",
            "-J",
            "--wait-all-nodes=1",
            "bash",
            "--",
            "-c",
        ),
        *(
            "sh -c id",
            "--qos=high --uid=0",
            "--qos=/etc/passwd",
            "--qos=high\n",
            "--qos",
            "--QOS=high",
            "--comment=$(id)",
            "",
        ),
        *("--cpu-freq=`id`", "--exclude=/etc/nodes", "--mail-user=a@b", "--profile=all", "--acctg-freq=1"),
    ],
)
def test_an_argument_of_salloc_that_does_more_than_ask_is_refused(word: str) -> None:
    with pytest.raises(ValidationError, match="is not permitted as an argument of salloc"):
        drivers.build("testbeds", "slurm", {"arguments": [word]}, to_run=True)


@pytest.mark.parametrize(
    ("word", "key"), [("-N", "nodes"), ("--partition=x", "partition"), ("--nodelist=n1", "hosts")]
)
def test_the_key_of_the_campaign_is_named_for_salloc(word: str, key: str) -> None:
    with pytest.raises(ValidationError, match=f"(set|name nodes in) {key} instead"):
        drivers.build("testbeds", "slurm", {"arguments": [word]}, to_run=True)
