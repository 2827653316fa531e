"""What kept a connection from coming about, in words that say what to do.

gRPC says UNAVAILABLE of a server that is not there as of one that does not get on with the client's
TLS, and tells them apart in its own words alone: here those of its versions 1.51 to 1.85.
"""

import re
import urllib.parse

_BEGIN = "failed to connect to all addresses"
_ADDRESS = re.compile(r"last error: \w+: ipv[46]:(\S+): ")

# The first that gRPC's words have.
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
    """What gRPC said of a call that failed, in words of ours where it is known. What a server said
    stays as it is."""
    if not said.startswith(_BEGIN):
        return said
    for cause, words in _CAUSES:
        if cause.search(said):
            address = _ADDRESS.search(said)
            return f"{urllib.parse.unquote(address[1])}: {words}" if address else words
    return said
