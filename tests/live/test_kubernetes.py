"""Pods as clients, reached as the how-to says: OpenSSH by `kubectl exec`, of which a stand-in enters virtual
hosts. No cluster of Kubernetes was there.
"""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

from on_hosts import hosts_of
from perjoule.testbeds.virtual.host import VirtualHost
from sshd import NEEDS_SSHD, PERJOULE, Lab, toml

pytestmark = [pytest.mark.live, NEEDS_SSHD]

PAGE = Path(__file__).parents[2] / "docs/how-to/kubernetes.md"
KUBECTL = """#!/bin/sh
[ "$1 $2 $4" = "exec -i --" ] || exit 64
read -r pid < "{folder}/$3.pid" && shift 4 && exec nsenter -t "$pid" -n -m -u -i -p -- "$@"
"""


def block(language: str) -> str:
    """The only block of the page in a language."""
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return text


def test_pods_that_kubectl_alone_reaches_are_measured_as_the_page_says() -> None:
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as name, hosts_of(servers=1).hold(2) as hosts:
        folder = Path(name)
        folder.chmod(0o755)
        lab = Lab(folder)
        pods = dict(zip(("load-0", "load-1"), hosts.clients, strict=True))
        for place in ("bin", "files", "work"):
            (folder / place).mkdir()
        for pod, host in pods.items():
            assert isinstance(host, VirtualHost)
            (folder / f"{pod}.pid").write_text(f"{host.pid}\n")
            host.run(["mount", "-t", "tmpfs", "none", folder / "work"], timeout_s=10)
        (folder / "bin/kubectl").write_text(KUBECTL.format(folder=folder))
        (folder / "bin/kubectl").chmod(0o755)
        server = lab.server("pod", 22)
        key = (folder / "host.pub").read_text()
        (folder / "known").write_text("".join(f"{pod} {key}" for pod in pods))
        config = block("text").replace("sshd -i'", f"sshd -i -f {server}'")
        assert str(server) in config
        files = f"    IdentityFile {folder}/key\n    UserKnownHostsFile {folder}/known\n"
        (folder / "config").write_text(config + files)

        campaign = toml(
            {}, 'kind = "x"', 'kind = "fio"\noperation = ["write", "read"]\nsize = "8 MiB"', clients=2
        )
        page = (
            block("toml")
            .replace("/data/me", str(folder / "files"))
            .replace("/tmp/perjoule", str(folder / "work"))
        )
        assert str(folder / "files") in page and str(folder / "work") in page
        head, loads = campaign.partition("[testbed]")[0], campaign[campaign.index("[[workload]]") :]
        (folder / "pods.toml").write_text(head + page + loads)
        done = subprocess.run(
            [
                PERJOULE,
                "run",
                folder / "pods.toml",
                "--into",
                folder / "results",
                "--ssh-config",
                folder / "config",
            ],
            env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "XDG_STATE_HOME": str(folder)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr

        records = [json.loads(path.read_text()) for path in (folder / "results").rglob("record.json")]
        assert [(record["status"], record["reason"]) for record in records] == [("valid", "")] * 2
        for record in records:
            moved = {(result["host"], result["moved_bytes"]) for result in record["outcome"]["results"]}
            assert moved == {(pod, 8 * 1024**2) for pod in pods}
