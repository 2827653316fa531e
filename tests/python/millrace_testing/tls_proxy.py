"""A reverse proxy with TLS on this machine, as docs/security.md advises: it passes the Host on, and names its client in
X-Forwarded-For."""

import http.client
import http.server
import pathlib
import ssl
import subprocess
import threading

_PASSED_ON = ("host", "origin", "referer", "authorization", "sec-fetch-site")


def _certificate(folder: pathlib.Path) -> ssl.SSLContext:
    key, certificate = folder / "proxy.key", folder / "proxy.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=door.example", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


class TlsProxy:
    """In front of the page at 127.0.0.1:`port`, on a free port, while the block runs."""

    def __init__(self, port: int, folder: pathlib.Path):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # pylint: disable=invalid-name
                self._pass_on()

            def do_POST(self):  # pylint: disable=invalid-name
                self._pass_on()

            def _pass_on(self):
                server = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                headers = {name: self.headers[name] for name in _PASSED_ON if name in self.headers}
                server.request(self.command, self.path,
                               headers={**headers, "X-Forwarded-For": self.client_address[0]})
                answer = server.getresponse()
                body = answer.read()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # The handshake is for each connection's own thread: a browser opens some that it may not use.
        self._server.socket = _certificate(folder).wrap_socket(
            self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._server.server_address[1]

    def __enter__(self) -> "TlsProxy":
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
