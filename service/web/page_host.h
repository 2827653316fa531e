// Under which names a browser may have opened the page.
//
// Whoever owns a name may have it stand for 127.0.0.1 (DNS rebinding): a page of evil.example, open
// in a browser on the server's machine, could then read all that the server says, as if it were its
// own. The `Host` of such a request is that name, so a page for this machine alone is shown under
// an address or as `localhost`, which nobody else owns.
//
// A proxy in front has a name of its own. It cannot be meant by that trick: the browser says
// `Sec-Fetch-Site` to names only over TLS, which this server does not speak, and `Via` never; no
// script can say either.
#pragma once

#include <string>
#include <vector>

#include "service/net/http_message.h"

namespace millrace::service {

/// Whether the request's `Host` is an address or `localhost`, with a port or without.
[[nodiscard]] bool NamesAnAddress(const HttpRequest& request);

/// Whether a proxy says that it has passed the request on.
[[nodiscard]] bool WasForwarded(const HttpRequest& request);

/// Of a browser's page, "https://door.example": its `Origin`, or that of its `Referer`, because a
/// GET of the page's own has no `Origin`. Empty where neither came.
[[nodiscard]] std::string OriginOf(const HttpRequest& request);

/// Whether the browser says that a page of another origin sends the request (`Sec-Fetch-Site`).
[[nodiscard]] bool IsOfAnotherSite(const HttpRequest& request);

/// `routes`, which answer 421 (Misdirected Request), in words, under a name that is nobody's to
/// trust.
[[nodiscard]] std::vector<HttpRoute> UnderTrustedNames(std::vector<HttpRoute> routes);

}  // namespace millrace::service
