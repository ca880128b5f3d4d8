"""Parts without a campaign: a testbed and a file system to experiment with (`perjoule up`), meters alone
(`perjoule meters`).
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perjoule.campaign.defaults import TESTBED
from perjoule.campaign.making.meter_line import is_meter_line, meter_table, require_whole
from perjoule.campaign.passed import check_passwords
from perjoule.campaign.source import (
    CampaignSource,
    Table,
    is_list,
    is_table,
    override,
    owned_text_of,
    read_toml,
)
from perjoule.campaign.tables import known_options, rows
from perjoule.drivers.protocols import FileSystem, Meter, Testbed
from perjoule.model.errors import CampaignError


def playground(
    kind: str | None, cluster: str, overrides: Sequence[str] = ()
) -> tuple[Testbed, FileSystem | None]:
    """Build a virtual testbed and, if a kind is named, a file system.

    Args:
        kind: the file system.
        cluster: its name in the catalogue.
        overrides: "OPTION=VALUE" of the file system, or "testbed.OPTION=VALUE".

    Raises:
        CampaignError: something is unknown or impossible.
    """
    document: Table = {
        "testbed": {"kind": TESTBED, "cluster": cluster},
        **({"filesystem": {"kind": kind}} if kind else {}),
    }
    source = CampaignSource("", {})
    options = {
        "": [()],
        **{name: [known_options(name, (name,), table, source)] for name, table in document.items()},
    }
    qualified = [
        text if "." in text.partition("=")[0] or not kind else f"filesystem.{text}" for text in overrides
    ]
    source = override(document, qualified, source, options)
    built = [rows(name, (name,), table, source)[0].driver for name, table in document.items()]
    bed, filesystem = built[0], built[1] if kind else None
    assert isinstance(bed, Testbed)
    assert filesystem is None or isinstance(filesystem, FileSystem)
    return bed, filesystem


def meters(names: Sequence[str], overrides: Sequence[str] = ()) -> tuple[Meter, ...]:
    """Build meters.

    Args:
        names: each a kind, a line such as "shelly://10.0.0.7", or a TOML file with [[meter]] tables (such as a
            campaign).
        overrides: "OPTION=VALUE", for all meters that have the option.

    Raises:
        CampaignError: something is unknown or impossible.
    """
    built: list[Meter] = []
    for name in names:
        source = CampaignSource("", {})
        tables: list[Table] = [{"kind": name}]
        if is_meter_line(name):
            tables, source = [meter_table(name)], CampaignSource(f"--meter {name}", {})
        if name.endswith(".toml"):
            text, owner = owned_text_of(Path(name))
            document, source = read_toml(text, name)
            written = document.get("meter")
            if not is_list(written) or not written or not all(map(is_table, written)):
                raise CampaignError(
                    "[[meter]] is missing", where=name, next="write one as `perjoule drivers shelly` shows"
                )
            tables = list(written)
            check_passwords({"meter": tables}, replace(source, owner=owner))
        document = {"meter": tables}
        options = {
            "": [()],
            "meter": [known_options("meter", ("meter", n), table, source) for n, table in enumerate(tables)],
        }
        source = override(
            document, [f"meter.{text.removeprefix('meter.')}" for text in overrides], source, options
        )
        if is_meter_line(name):
            require_whole(tables[0], name)
        for n, table in enumerate(tables):
            for row in rows("meter", ("meter", n), table, source):
                assert isinstance(row.driver, Meter)
                built.append(row.driver)
    return tuple(built)
