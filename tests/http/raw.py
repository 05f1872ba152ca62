"""HTTP over a bare socket, for what no client library would send."""

import socket

from tests.http.server import Server


def connect(server: Server, *pieces: bytes) -> socket.socket:
    """A connection on which these pieces were sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    for piece in pieces:
        connection.sendall(piece)
    return connection


def read_answer(connection: socket.socket) -> tuple[int, bytes, bytes]:
    """Status, head and body of the one answer that comes next, in however many segments; the connection stays open."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        assert piece, head
        head += piece
    body, length = b"", 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while len(body) < length:
        piece = connection.recv(length - len(body))
        assert piece, (head, body)
        body += piece
    return int(head.split()[1]), head, body


def read_to_end(connection: socket.socket) -> bytes:
    """All that comes until the server closes, or breaks off because there is more to read that it does not want."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received
