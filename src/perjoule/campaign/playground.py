"""A testbed and a file system to play with, without a campaign: `perjoule up`."""

from collections.abc import Sequence

from perjoule.campaign.source import Source, Table, override
from perjoule.campaign.tables import known_options, rows
from perjoule.protocols import FileSystem
from perjoule.testbeds.virtual import Virtual


def playground(kind: str | None, cluster: str, overrides: Sequence[str] = ()) -> tuple[Virtual, FileSystem | None]:
    """Build a virtual testbed and, where a kind is named, a file system.

    Args:
        kind: of the file system.
        cluster: of the catalogue.
        overrides: "OPTION=VALUE" of the file system, or "testbed.OPTION=VALUE".

    Raises:
        CampaignError: something is not known or not possible.
    """
    document: Table = {"testbed": {"kind": "virtual", "cluster": cluster}, **({"filesystem": {"kind": kind}} if kind else {})}
    source = Source("perjoule up", {})
    options = {"": [()], **{name: [known_options(name, (name,), table, source)] for name, table in document.items()}}
    asked = [text if "." in text.partition("=")[0] or not kind else f"filesystem.{text}" for text in overrides]
    source = override(document, asked, source, options)
    built = [rows(name, (name,), table, source)[0].driver for name, table in document.items()]
    bed, filesystem = built[0], built[1] if kind else None
    assert isinstance(bed, Virtual)
    assert filesystem is None or isinstance(filesystem, FileSystem)
    return bed, filesystem
