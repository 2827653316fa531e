"""The certificates that a client trusts, and its own."""

import dataclasses
import pathlib
import ssl

import grpc

from millrace._files import read_file


@dataclasses.dataclass(frozen=True)
class Tls:
    """TLS options of a client. Files are in PEM.

    `ca_file`: the trusted certificates; omitted: gRPC's own list. `certificate_file` and
    `key_file`: the client's own, if the server requires one. `server_name`: the name in the
    server's certificate, if it differs from the address.
    """

    ca_file: str | pathlib.Path | None = None
    certificate_file: str | pathlib.Path | None = None
    key_file: str | pathlib.Path | None = None
    server_name: str | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """Reads the files. Raises OSError if a file cannot be read, and ValueError if it is
        invalid. Messages never contain the content."""
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
