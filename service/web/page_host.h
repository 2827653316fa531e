// Checks the host name under which a browser has opened the page.
//
// The owner of a domain may point it at 127.0.0.1 (DNS rebinding). A page of evil.example, opened
// in a browser on the server's machine, could then read the server's answers as same-origin. Such a
// request has evil.example as its `Host`. So a page for this machine alone is shown only under an
// IP address or `localhost`, which no outsider can own.
//
// A reverse proxy has its own host name. Its requests cannot be a rebinding attack: they carry
// `Sec-Fetch-Site` or `Via`. Browsers send `Sec-Fetch-Site` to host names only over TLS, which this
// server does not speak, and never send `Via`. Scripts can set neither header.
#pragma once

#include <string>
#include <vector>

#include "service/net/http_message.h"

namespace millrace::service {

/// Whether the request's `Host` is an IP address or `localhost`, with or without a port.
[[nodiscard]] bool NamesAnAddress(const HttpRequest& request);

/// Whether a header says that a proxy forwarded the request.
[[nodiscard]] bool WasForwarded(const HttpRequest& request);

/// The origin of the page that sent the request, "https://door.example": its `Origin`, else the
/// origin of its `Referer`, because same-origin GETs have no `Origin`. Empty if both are missing.
[[nodiscard]] std::string OriginOf(const HttpRequest& request);

/// Whether the browser marks the request as sent by a page of another origin (`Sec-Fetch-Site`).
[[nodiscard]] bool IsOfAnotherSite(const HttpRequest& request);

/// Wraps `routes`: they answer 421 (Misdirected Request), with an explanation, under an untrusted
/// host name.
[[nodiscard]] std::vector<HttpRoute> UnderTrustedNames(std::vector<HttpRoute> routes);

}  // namespace millrace::service
