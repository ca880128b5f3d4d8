"""Where the command begins, also as `python -m perjoule`."""

import os
import signal


def main() -> None:
    """Run the command line; until it listens itself, Ctrl-C ends it without a word: the imports take a
    moment.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # OpenBLAS starts a thread for each core, which our small matrices don't need, and interrupts a program
    # that can't have them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # pydantic would look for plug-ins of its own in every package on the path, also in the working directory,
    # and run them.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from perjoule import cli

    cli.main()


if __name__ == "__main__":
    main()
