"""Explains a failed connection, with a remedy.

gRPC reports UNAVAILABLE both for a missing server and for a failed TLS handshake. Only its message
tells them apart: the patterns are those of gRPC 1.51 to 1.85.
"""

import re
import urllib.parse

_BEGIN = "failed to connect to all addresses"
_ADDRESS = re.compile(r"last error: \w+: ipv[46]:(\S+): ")

# The first matching pattern applies.
_CAUSES = (
    (re.compile("certificate has expired"), "the server's certificate has expired"),
    (re.compile("certificate.verify.failed", re.IGNORECASE),
     "the server's certificate is signed by none that this client trusts; name the certificate of "
     "its authority: Tls(ca_file=...)"),
    (re.compile("Hostname Verification Check failed|is not in peer certificate"),
     "the server's certificate is not for the name of this address; name one that it is for: "
     "Tls(server_name=...)"),
    (re.compile("wrong.version.number", re.IGNORECASE),
     "the server does not speak TLS; leave tls out"),
    (re.compile("Socket closed|Connection reset|Broken pipe|certificate.required", re.IGNORECASE),
     "the server ended the connection at once; where it speaks TLS, pass tls=True or Tls(...), and "
     "where it wants certificates of its clients Tls(certificate_file=..., key_file=...)"),
    (re.compile("Connection refused"),
     "nothing listens there; does `millrace serve` run there?"),
)


def in_words(said: str) -> str:
    """Explains gRPC's message for a failed connection if it is known. A server's own message
    stays."""
    if not said.startswith(_BEGIN):
        return said
    for cause, words in _CAUSES:
        if cause.search(said):
            address = _ADDRESS.search(said)
            return f"{urllib.parse.unquote(address[1])}: {words}" if address else words
    return said
