"""How perjoule stops: one sentence and an exit code per error, and signals that unwind every `with` once."""

import errno
import os
import re
import resource
import select
import signal
import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:  # `--help` and completion need none of it, and it takes longer than they
    from perjoule.model.errors import CampaignError, MachineError, PerjouleError

FULL = (errno.ENOSPC, errno.EDQUOT)
NO_THREADS = "no more threads or processes can be started"
MORE_THREADS = "end other programs, or raise the limits (ulimit -u, ulimit -v, pids.max of the control group)"
NO_MEMORY = "not enough memory"
UNMAPPED = "failed to map segment"  # the dynamic linker's words for a library that finds no memory
# of addresses, and of those for data
LEAST_BYTES = {resource.RLIMIT_AS: 256 * 1024**2, resource.RLIMIT_DATA: 96 * 1024**2}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_NOT_A_NUMBER = re.compile("is not a valid (integer|float)( range)?")  # as click says it
AGAIN_S = 0.01  # after an interrupt that Python dropped
CLOSED_PIPE = 128 + signal.SIGPIPE  # as a shell reports a program that the signal ends


def exit_code(call: Callable[[], object]) -> int:
    """Call a function, and print why it stopped, in one sentence.

    An unexpected error keeps its traceback: it is a bug. When the reader of a pipe has enough, as `head` has, the
    command ends without a word, with the code of other programs there.
    """
    try:
        call()
    except SystemExit as error:
        # click ends with 1 then
        if error.code != CLOSED_PIPE and not (
            error.code == 1 and any(map(_unread, (sys.stdout, sys.stderr)))
        ):
            raise
        _discard_output()
        return CLOSED_PIPE
    except (Exception, KeyboardInterrupt) as error:
        from perjoule.model.errors import PerjouleError

        ours = isinstance(error, PerjouleError | click.ClickException)
        return _code(KeyboardInterrupt() if stopping() and not ours else error)  # as `interruptible` says
    return 0


def _discard_output() -> None:
    """Send to nowhere what is still to be written: Python complains of it when it ends."""
    with Path(os.devnull).open("wb") as nowhere:
        for stream in (sys.stdout, sys.stderr):
            if _unread(stream):
                os.dup2(nowhere.fileno(), stream.fileno())


def _unread(stream: TextIO) -> bool:
    """Return whether a stream is a pipe that nobody reads any more."""
    poll = select.poll()
    with suppress(OSError, ValueError):  # a stream without a number, or a closed one
        poll.register(stream.fileno(), 0)  # errors are always reported
        return any(events & select.POLLERR for _, events in poll.poll(0))
    return False


def _code(error: Exception | KeyboardInterrupt) -> int:
    from perjoule.model.errors import CampaignError, Interrupted, OutOfResources, PerjouleError

    match error:
        case PerjouleError():
            return print_error(error)
        case click.exceptions.NoArgsIsHelpError():
            error.show()
            return CampaignError.exit_code
        case click.ClickException():
            return print_error(_of_command_line(error))
        # click takes it for a closed terminal; a damaged module raises it, too
        case click.Abort(__cause__=EOFError() as cause):
            raise cause
        case KeyboardInterrupt() | click.Abort():
            return print_error(Interrupted("interrupted"))
        case OSError():
            return print_error(_of_system(error))
        case MemoryError() | ImportError() if isinstance(error, MemoryError) or UNMAPPED in str(error):
            return print_error(
                OutOfResources(NO_MEMORY, next="end other programs, or raise the limit (ulimit -v)")
            )
        case RuntimeError() if "can't start new thread" in str(error):
            return print_error(OutOfResources(NO_THREADS, next=MORE_THREADS))
        case _:
            raise error


def print_error(error: "PerjouleError") -> int:
    """Print an error in one line, and return its exit code."""
    from perjoule.cli.terminal.display import err
    from perjoule.model.errors import Interrupted

    if error.exit_code == Interrupted.exit_code:
        for number in SIGNALS:  # our own handlers end before the interpreter does
            signal.signal(number, signal.SIG_IGN)
    sentence = " ".join(str(error).split())  # a path or a daemon's words may hold newlines
    err.print(f"perjoule: {sentence}", style="bold red" if error.exit_code != Interrupted.exit_code else None)
    return error.exit_code


def warned(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning: what is left out of a list in a sentence, as an error; any other as Python does."""
    from perjoule.model.families import LeftOut

    if issubclass(category, LeftOut):
        from perjoule.cli.terminal.display import err

        err.print(f"perjoule: left out: {message}", style="yellow")
    else:
        sys.stderr.write(warnings.formatwarning(message, category, filename, lineno, line))


def _of_command_line(error: click.ClickException) -> "CampaignError":
    from perjoule.model.errors import CommandLineRefused

    problem, _, suggestions = re.sub(
        r"[.] [(]?Did you mean (one of: )?", "\n", error.format_message().rstrip(".")
    ).partition("\n")
    if isinstance(error, click.BadParameter) and error.param:
        problem = _NOT_A_NUMBER.sub(f"is not {_number(error.param.type)}", problem)
    several = re.findall(r"'(.*?)'", suggestions)
    option = error.option_name if isinstance(error, click.NoSuchOption) else ""
    near = next(iter(_near(option, several) if option else several), "")
    context = error.ctx if isinstance(error, click.UsageError) else None
    advice = (
        f"did you mean '{near}'?"
        if near
        else f"see `{context.command_path if context else 'perjoule'} --help`"
    )
    return CommandLineRefused(f"{problem[:1].lower()}{problem[1:]}", next=advice)


def _near(option: str, several: Sequence[str]) -> list[str]:
    """Return the option that is meant, if any: the dashes make all of them look alike."""
    bare = {name.lstrip("-"): name for name in several}
    return [bare[name] for name in get_close_matches(option.lstrip("-"), bare, n=1)]


def _number(type: "click.ParamType[Any]") -> str:
    """Describe the numbers that an option takes: "a whole number of 1 or more"."""
    noun = "a whole number" if isinstance(type, click.types.IntParamType) else "a number"
    least, most = (
        (type.min, type.max) if isinstance(type, click.IntRange | click.FloatRange) else (None, None)
    )
    if least is None:
        return noun
    return f"{noun} of {least} or more" if most is None else f"{noun} from {least} to {most}"


@contextmanager
def place(path: Path) -> Generator[None]:
    """Add the place of a failure in the block, because the error of a full disk has none.

    Raises MachineError.
    """
    try:
        yield
    except OSError as error:
        raise _of_system(error, path) from error


def _of_system(error: OSError, path: Path | str = "") -> "MachineError":
    from perjoule.model.errors import DiskFull, MachineError, OutOfResources, PortTaken, TooManyOpenFiles

    place = str(error.filename or path)
    if error.errno == errno.EADDRINUSE:
        return PortTaken("another program has this port", where=place, next="choose another one with --port")
    if error.errno in FULL:
        from perjoule.machine.disks import lack_of

        return DiskFull(lack_of(Path(place)), where=place, next="free space, or remove files, and try again")
    if error.errno in TooManyOpenFiles.NUMBERS:
        return TooManyOpenFiles(where=place)
    if error.errno == errno.EAGAIN:
        return OutOfResources(NO_THREADS, next=MORE_THREADS)
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return MachineError(
        reason, where=place, next="check the path and its permissions" if place else "see `perjoule doctor`"
    )


def require_memory() -> None:
    """Exit with a sentence if the limits of memory are too low for our libraries: some then end the program,
    or fail at random.

    It uses none of them, and so neither MachineError nor its exit code.
    """
    for limit, least_bytes in LEAST_BYTES.items():
        allowed_bytes = resource.getrlimit(limit)[0]
        if allowed_bytes != resource.RLIM_INFINITY and allowed_bytes < least_bytes:
            option = "-v" if limit == resource.RLIMIT_AS else "-d"
            numbers = f"{allowed_bytes // 1024**2} MiB allowed, {least_bytes // 1024**2} MiB needed at least"
            sys.stderr.write(f"perjoule: {NO_MEMORY} ({numbers}); raise the limit (ulimit {option})\n")
            sys.exit(3)


def listen() -> None:
    """Turn the first SIGINT, SIGTERM or SIGHUP into a KeyboardInterrupt; later ones don't disturb the
    tear-down.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _interrupt)
    sys.unraisablehook = _unraisable


def stopping() -> bool:
    """Return whether a signal has arrived."""
    return signal.getsignal(signal.SIGINT) is _wait


@contextmanager
def interruptible(advice: str) -> Generator[None]:
    """Turn an interrupt into the error of an interrupted command, whose advice says how to continue. Raises
    Interrupted.

    An interrupt in the middle of an import, or in a library's own C code, comes out of it as another error:
    after a signal, any that is not ours is taken for one.
    """
    from perjoule.model.errors import Interrupted, PerjouleError

    try:
        yield
    except PerjouleError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) or stopping():
            raise Interrupted("interrupted; everything was taken down", next=advice) from None
        raise


def _interrupt(number: int, frame: FrameType | None) -> None:
    for name in SIGNALS:
        signal.signal(name, _wait)
    _note("stopping: taking everything down")
    _raise(number, frame)


def _raise(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _unraisable(ignored: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt again that Python dropped, as it does in a destructor and in a callback of a weak
    reference.
    """
    if isinstance(ignored.exc_value, KeyboardInterrupt):
        signal.signal(signal.SIGALRM, _raise)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        sys.__unraisablehook__(ignored)


def _wait(number: int, frame: FrameType | None) -> None:
    _note("still taking down; please wait")


def _note(text: str) -> None:
    from perjoule.cli.terminal.display import err

    with suppress(OSError, RuntimeError):  # the terminal is gone, or the signal came in the middle of a print
        err.print(text)
