"""Results for others: a long table as CSV or Parquet, and one file with everything, which describes and
verifies itself.
"""

from perjoule.exporting.archive import MOST_UNPACKED_BYTES
from perjoule.exporting.bundle import verify_bundle, write_bundle, write_zip
from perjoule.exporting.crate import Description
from perjoule.exporting.latex import latex_text
from perjoule.exporting.recalculating import recalculate
from perjoule.exporting.rows import csv_text, rows, write_parquet

__all__ = [
    "MOST_UNPACKED_BYTES",
    "Description",
    "csv_text",
    "latex_text",
    "recalculate",
    "rows",
    "verify_bundle",
    "write_bundle",
    "write_parquet",
    "write_zip",
]
