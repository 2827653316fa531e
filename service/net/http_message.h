// A request and its answer, free of any web server's types: what handlers speak, and what makes
// them testable without a socket.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::service {

/// A request without a body. Constant while it is handled.
struct HttpRequest {
  /// Decoded, begins with '/', without the query.
  std::string path;
  /// As sent: "a=1&b=2".
  std::string query = {};
  std::string remote_address = {};
  /// "GET", also where it was HEAD; "POST".
  std::string method = "GET";
  /// By their names in lower case; of those that came twice the first.
  std::map<std::string, std::string> headers = {};
  /// What the route's `*` segments stand for, first one first.
  std::vector<std::string> captures = {};

  /// The decoded value of `name` in the query, or nullopt. Values beyond 255 bytes count as absent.
  [[nodiscard]] std::optional<std::string> Parameter(std::string_view name) const;
  /// The header `name`, in lower case; empty where none came.
  [[nodiscard]] std::string Header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// Answers a request. Called from several threads at once.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

/// What answers a path: "/metrics", or with segments that stand for anything:
/// "/streams/*/picture.jpg".
struct HttpRoute {
  std::string pattern;
  HttpHandler handler;
  std::string method = "GET";
  /// Whether an answer of 404 names it. Not the parts of a page.
  bool listed = true;
  /// Answered on a thread of its own, so that no other route keeps it waiting. Without `*`.
  bool probe = false;
};

/// The request's target as it was sent, "/a%20b?c=d", "http://host/a%20b?c=d": its path, decoded,
/// and its query, as sent. False, and nothing is changed, where it is no path: "*", "host:80".
[[nodiscard]] bool ReadTarget(std::string_view target, HttpRequest& request);

/// `address` as it stands in a URL: IPv6 in brackets.
[[nodiscard]] std::string UrlHost(std::string_view address);

/// Whether `path` fits `pattern`, segment by segment; then fills `captures` with what its `*`
/// segments stand for.
[[nodiscard]] bool MatchesRoute(std::string_view pattern, std::string_view path,
                                std::vector<std::string>& captures);

/// The answer of the first route that fits: 404 as plain text, with the paths that there are, where
/// none does, 405 where only the method does not, 500 where a handler throws, whatever it is.
[[nodiscard]] HttpResponse Dispatch(const std::vector<HttpRoute>& routes, HttpRequest request);

}  // namespace millrace::service
