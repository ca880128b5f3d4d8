"""The further arguments of salloc that a campaign may give: what to ask Slurm for.
https://slurm.schedmd.com/salloc.html

None of them names a file or a program, acts as another user, restarts nodes, or changes which job is ours.
"""

from collections.abc import Sequence

from perjoule.model.permitted import NUMBER, Forms, each, permits

_WORD = r"=[A-Za-z0-9][A-Za-z0-9_.,:@%+*&|()\[\]-]*"
_NODES = r"=[A-Za-z0-9_.,\[\]-]+"
ARGUMENTS: Forms = {
    **each(
        "--qos --reservation --wckey --licenses --gres --gpus --gpus-per-node --prefer --comment --gpu-freq",
        _WORD,
    ),
    **each("--cpu-freq --hint --distribution --extra-node-info --dependency", _WORD),
    **each("--mem --mem-per-cpu --tmp --core-spec --thread-spec", "=[0-9]{1,12}[KMGT]?"),
    **each(
        "--cpus-per-task --ntasks --ntasks-per-node --sockets-per-node --cores-per-socket --threads-per-core",
        NUMBER,
    ),
    **each("--priority --mincpus --delay-boot", NUMBER),
    "--nice": "(=-?[0-9]{1,9})?",
    "--switches": r"=[0-9]{1,4}(@[0-9:-]{1,16})?",
    "--exclude": _NODES,
    "--use-min-nodes": "",
    "--contiguous": "",
    "--spread-job": "",
}
_STEAD = {
    **dict.fromkeys(("--partition", "-p"), "set partition instead"),
    **dict.fromkeys(("--account", "-A"), "set account instead"),
    **dict.fromkeys(("--constraint", "-C"), "set constraint instead"),
    **dict.fromkeys(("--time", "-t"), "set time instead"),
    **dict.fromkeys(("--nodes", "-N"), "set nodes instead"),
    **dict.fromkeys(("--nodelist", "-w", "--nodefile", "-F"), "name nodes in hosts instead"),
    "--exclusive": "set exclusive instead",
}


def require_permitted(arguments: Sequence[str]) -> None:
    """Check `arguments` of a campaign. Raises ValueError with the first that is not permitted."""
    for argument in arguments:
        name = argument.partition("=")[0]
        if not permits(ARGUMENTS, argument):
            stead = _STEAD.get(name, f"write one as --name=value; permitted: {', '.join(ARGUMENTS)}")
            raise ValueError(f'"{argument}" is not permitted as an argument of salloc ({stead})')
