"""When, where and by which certificate a meter was calibrated, as a campaign states it."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from datetime import date as Day
from typing import Self

from pydantic import TypeAdapter, ValidationError, ValidationInfo, model_validator
from pydantic.dataclasses import dataclass

from perjoule.model.options import OPTIONS, Json, is_to_run
from perjoule.model.records import Record

USUAL = timedelta(days=730)  # after which a calibration is old, unless a date is stated


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class MeterCalibration:
    """The calibration of a meter."""

    date: Day
    """The day on which it was calibrated, as "2026-03-01"."""

    laboratory: str = ""
    """Who calibrated it."""

    certificate: str = ""
    """The number of the certificate."""

    due: Day | None = None
    """The day by which it is to be calibrated again; two years later if absent."""

    @model_validator(mode="after")
    def _passed(self, info: ValidationInfo) -> Self:
        if is_to_run(info) and self.date > datetime.now(UTC).date() + timedelta(days=1):
            raise ValueError(f"{self.date} has not come yet (write the day on the certificate)")
        if self.due is not None and self.due <= self.date:
            raise ValueError(f"due, {self.due}, is not after its calibration on {self.date}")
        return self

    @property
    def due_date(self) -> Day:
        """The day after which it is old."""
        return self.due or self.date + USUAL

    @property
    def text(self) -> str:
        """It in words: "2026-03-01 by PTB (certificate 42)"."""
        laboratory = f" by {self.laboratory}" if self.laboratory else ""
        return f"{self.date}{laboratory}" + (f" (certificate {self.certificate})" if self.certificate else "")


def calibrations(records: Iterable[Record]) -> dict[str, str]:
    """Return in words when each meter of trials was calibrated, by its name; all that were stated of it."""
    texts: dict[str, dict[str, None]] = {}
    for record in records:
        for meter in record.trial.meters:
            if (calibration := _stated(meter.options.get("calibration"))) is not None:
                texts.setdefault(meter.label, {})[calibration.text] = None
    return {label: ", and on ".join(each) for label, each in texts.items()}


def _stated(option: Json) -> MeterCalibration | None:
    """Return what an option of a meter states; None if it is something else: a file may hold anything."""
    try:
        return None if option is None else TypeAdapter(MeterCalibration).validate_python(option)
    except ValidationError:
        return None
