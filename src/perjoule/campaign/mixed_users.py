"""The users of `together = [...]`: each is a workload's table with some extra keys, and checked like any
other.
"""

from collections.abc import Sequence

from pydantic import ValidationError

from perjoule.campaign.lines import Path
from perjoule.campaign.source import CampaignSource, Table, is_list, is_table
from perjoule.campaign.tables import fields_of, rows
from perjoule.drivers.protocols import ListsUsers
from perjoule.model.validation import explained, instead, written


def users(
    path: Path,
    option: str,
    mark: ListsUsers,
    table: Table,
    source: CampaignSource,
    clients_counts: Sequence[int],
    shrink_ratio: float,
) -> Table:
    """Check every user's table, below an option of a workload's, and shrink its sizes.

    Raises:
        CampaignError: a name or a value in one of them is wrong, or it loads from a client that a trial
            lacks.
    """
    tables = table[option]
    if not is_list(tables) or not tables or not all(map(is_table, tables)):
        raise source.error(
            (*path, option),
            f"{option} = {written(tables)} is not a list of users",
            'write [{user = "...", kind = "..."}]',
        )
    checked = [
        _user((*path, option, n), mark, user_table, source, min(clients_counts), shrink_ratio)
        for n, user_table in enumerate(tables)
    ]
    names = [user_table["user"] for user_table in checked]
    for n, name in enumerate(names):
        if name in names[:n]:
            raise source.error(
                (*path, option, n), f"two users are called {written(name)}", "give each a different name"
            )
    for name in [only] if not is_list(only := table.get("only", "")) else only:
        if name not in ("", *names):
            raise source.error(
                (*path, "only"), f"only = {written(name)} is not a user", instead(str(name), names)
            )
    return {**table, option: checked}


def _user(
    path: Path,
    mark: ListsUsers,
    table: Table,
    source: CampaignSource,
    clients_count: int,
    shrink_ratio: float,
) -> Table:
    user_keys, workload = mark.split(table)
    _known(path, mark.keys, workload, source)
    try:
        user = mark.user(**user_keys)
    except ValidationError as error:
        explanation = explained(error, mark.user, "a user")
        raise source.error((*path, *explanation.path), explanation.what, explanation.advice) from None
    row, *more = rows("workload", path, workload, source, shrink_ratio)
    if more:
        spanning = next(option for option, value in row.options.items() if value != workload[option])
        fault = f"{spanning} = {written(workload[spanning])} of user {user.user} is more than one value"
        raise source.error((*path, spanning), fault, "write a [[workload]] with users for each")
    if max(user.clients, default=0) > clients_count:
        fault = (
            f"user {user.user} loads from client {max(user.clients)}, but a trial has only {clients_count}"
        )
        raise source.error(
            (*path, "clients"), fault, f"set clients at the top to {max(user.clients)} or more"
        )
    return {**user_keys, "kind": row.kind, **row.options}


def _known(path: Path, user_keys: Sequence[str], workload: Table, source: CampaignSource) -> None:
    """Refuse a word that neither the user nor its workload knows, with the nearest word of both."""
    try:
        fields = fields_of("workload", str(workload.get("kind")))
    except KeyError:  # `rows` says so
        return
    for option in workload:
        if option not in ("kind", "label", *fields):
            fault = f'user with workload {workload["kind"]} has no option "{option}"'
            raise source.error((*path, option), fault, instead(option, (*user_keys, *fields)))
