"""Whom a client trusts, and who it says that it is."""

import dataclasses
import pathlib
import ssl

import grpc

from millrace._files import read_file


@dataclasses.dataclass(frozen=True)
class Tls:
    """Which server to trust, and who asks. Files are in PEM.

    `ca_file`: the certificates that are trusted; left out, those that gRPC brings along.
    `certificate_file` and `key_file`: the client's own, where the server wants to see one.
    `server_name`: the name in the server's certificate, where it is not that of the address.
    """

    ca_file: str | pathlib.Path | None = None
    certificate_file: str | pathlib.Path | None = None
    key_file: str | pathlib.Path | None = None
    server_name: str | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Reads the files. Raises OSError where one cannot be read, and ValueError, in words that
        do not repeat what it holds, where one is not what it should be."""
        if (self.certificate_file is None) != (self.key_file is None):
            raise ValueError("certificate_file and key_file belong together; one is missing")
        return grpc.ssl_channel_credentials(root_certificates=self._authorities(), **self._own())

    def _authorities(self) -> bytes | None:
        if self.ca_file is None:
            return None
        data = read_file(self.ca_file)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(
                cadata=data.decode("ascii", "ignore"))
        except (ssl.SSLError, ValueError):
            raise ValueError(f"ca_file: {self.ca_file} holds no certificate in PEM") from None
        return data

    def _own(self) -> dict[str, bytes]:
        if self.certificate_file is None or self.key_file is None:
            return {}
        chain, key = read_file(self.certificate_file), read_file(self.key_file)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(
                self.certificate_file, self.key_file, password=lambda: b"")
        except (ssl.SSLError, ValueError):
            raise ValueError(
                f"certificate_file: {self.certificate_file} and key_file: {self.key_file} are no "
                "certificate in PEM and its private key without a password") from None
        return {"certificate_chain": chain, "private_key": key}
