"""TCP connections served in this process, one thread each, ended with the block."""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress

SERVED_COUNT = 64  # connections at once; of more, the oldest ends


@contextmanager
def connections(
    handle: Callable[[socket.socket, threading.Event], None], address: str, port: int
) -> Generator[int]:
    """Let `handle` serve each connection until it returns or the event is set; yields the port.

    An OSError in `handle` ends the connection: its client disconnected, or the block has ended. So does a
    ValueError: it speaks another protocol, as a program does that searches for meters.
    """
    stop, threads, clients = threading.Event(), list[threading.Thread](), list[socket.socket]()

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError, ValueError):
            handle(client, stop)

    def accept() -> None:
        while not stop.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            clients[:] = [served for served in clients if served.fileno() >= 0]
            threads[:] = [thread for thread in threads if thread.is_alive()]
            if len(clients) >= SERVED_COUNT:
                with suppress(OSError):
                    clients.pop(0).shutdown(socket.SHUT_RDWR)
            clients.append(client)
            threads.append(threading.Thread(target=serve, args=(client,), daemon=True))
            threads[-1].start()

    with socket.create_server((address, port)) as listener:
        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            stop.set()
            for endpoint in (listener, *clients):
                with suppress(OSError):
                    endpoint.shutdown(socket.SHUT_RDWR)
            for thread in (accepting, *threads):
                thread.join()
