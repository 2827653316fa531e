"""A network between a client and a server, which a test can break."""

import socket
import threading


class Network:
    """Passes bytes between clients of `address` and the server behind it.

    A context manager. Thread-safe.
    """

    def __init__(self, server: str):
        self._server = server
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._lost = threading.Event()  # For the current connections.
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0  # So far.

    def __enter__(self) -> "Network":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.break_all()

    def lead_to(self, server: str) -> None:
        """Sets the server for later connections."""
        with self._lock:
            self._server = server

    def break_all(self) -> None:
        """Closes every connection abruptly."""
        with self._lock:
            sockets, self._sockets = self._sockets, []
        for each in sockets:
            _shut(each)

    def lose_all(self) -> None:
        """From now on all bytes on the current connections are lost without an error, as after a
        power cut. New connections work."""
        with self._lock:
            self._lost.set()
            self._lost = threading.Event()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # Closed.
            self._connect(client)

    def _connect(self, client: socket.socket) -> None:
        with self._lock:
            host, port = self._server.split(":")
            self.connections += 1
        try:
            server = socket.create_connection((host, int(port)))
        except OSError:
            client.close()
            return
        with self._lock:
            self._sockets += [client, server]
            lost = self._lost
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=_pass_on, args=(source, target, lost), daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket, lost: threading.Event) -> None:
    try:
        while data := source.recv(1 << 16):
            if not lost.is_set():
                target.sendall(data)
    except OSError:
        pass  # The test broke the connection.
    if not lost.is_set():  # A lost connection's end must not reach the other side, either.
        _shut(target)
    source.close()


def _shut(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # The other side was faster.
