// A request and its answer without any web server's types, so that handlers can be tested without a
// socket.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::service {

/// A request without a body. Constant while a handler runs.
struct HttpRequest {
  /// Decoded, begins with '/', without the query.
  std::string path;
  /// As sent: "a=1&b=2".
  std::string query = {};
  std::string remote_address = {};
  /// "GET" (HEAD is mapped to it) or "POST".
  std::string method = "GET";
  /// Keyed by name in lower case. If a header is repeated, the first value counts.
  std::map<std::string, std::string> headers = {};
  /// The segments that the route's `*` matched, in order.
  std::vector<std::string> captures = {};

  /// The decoded value of `name` in the query, or nullopt. Values beyond 255 bytes count as absent.
  [[nodiscard]] std::optional<std::string> Parameter(std::string_view name) const;
  /// The value of the header `name` (in lower case); empty if it is missing.
  [[nodiscard]] std::string Header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Answers a request. May be called from several threads at once.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

/// A handler and its path. A `*` matches any one segment: "/metrics", "/streams/*/picture.jpg".
struct HttpRoute {
  std::string pattern;
  HttpHandler handler;
  std::string method = "GET";
  /// Whether a 404 answer lists this route. False for the page's assets.
  bool listed = true;
  /// Answered on a separate thread, so that other routes cannot delay it. REQUIRES: no `*` in the
  /// path.
  bool probe = false;
};

/// Splits a request's target ("/a%20b?c=d", "http://host/a%20b?c=d") into its decoded path and its
/// raw query. Returns false and changes nothing if the target is no path: "*", "host:80".
[[nodiscard]] bool ReadTarget(std::string_view target, HttpRequest& request);

/// `address` in the form that a URL needs: IPv6 in brackets.
[[nodiscard]] std::string UrlHost(std::string_view address);

/// Whether `path` matches `pattern`, segment by segment. If so, fills `captures` with the segments
/// that `*` matched.
[[nodiscard]] bool MatchesRoute(std::string_view pattern, std::string_view path,
                                std::vector<std::string>& captures);

/// The answer of the first route that matches. 404 with a list of paths (plain text) if no route
/// matches, 405 if only the method differs, 500 if a handler throws anything.
[[nodiscard]] HttpResponse Dispatch(const std::vector<HttpRoute>& routes, HttpRequest request);

}  // namespace millrace::service
