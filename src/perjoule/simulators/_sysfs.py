"""A folder of attributes like sysfs, updated by a thread as a chip's driver would."""

import math
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from perjoule.machine import removal
from perjoule.simulators._behaviour import Behaviour, Truth

UPDATE_S = 0.01  # the time between two values, as the chip's own


@contextmanager
def tree(
    behaviour: Behaviour, fixed: Mapping[str, str], values: Callable[[Truth], Mapping[str, str]]
) -> Generator[Path]:
    """Update a folder of attributes during the block: `fixed` ones by path, and current ones by `values`.

    A value "" is an attribute that can't be read. While the device is disconnected its folders are gone.
    """
    with removal.scratch("perjoule-meter-") as folder:
        root, scratch, stop = folder / "class", folder / "scratch", threading.Event()

        def show(attributes: Mapping[str, str]) -> None:
            for path, text in attributes.items():
                if text:
                    _write(root / path, text, scratch)
                else:
                    removal.remove_file(root / path)

        def loop() -> None:
            while not stop.wait(UPDATE_S):
                manner = behaviour.manner()
                if manner.hang_up:
                    removal.remove_folder(root, mark="")
                    continue
                attributes = values(behaviour.truth())
                if not root.exists():
                    show(fixed)
                show(dict.fromkeys(attributes, "") if manner.silent else attributes)

        show({**fixed, **values(behaviour.truth())})
        thread = threading.Thread(target=loop, name="sysfs", daemon=True)
        thread.start()
        try:
            yield root
        finally:
            stop.set()
            thread.join()


def micro(value: float) -> str:
    """A number in millionths, as sysfs shows watts and joules; "" if absent."""
    return "" if math.isnan(value) else f"{round(value * 1e6)}\n"


def _write(path: Path, text: str, scratch: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch.write_text(text)
    scratch.replace(path)  # a reader sees the old value or the new one, never half of one
