#include "service/net/http_message.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

namespace {

constexpr std::size_t kMaxValueBytes = 255;

/// The byte that an escape such as "%41" encodes; nullopt: `text` does not begin with an escape.
std::optional<char> EscapedByte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(&text[1], &text[3], byte, 16);
  if (error != std::errc() || end != &text[3]) return std::nullopt;
  return static_cast<char>(byte);
}

/// A '%' without two hexadecimal digits is kept as it is.
std::string Decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  while (!text.empty()) {
    const std::optional<char> byte = EscapedByte(text);
    const bool space = plus_is_space && text[0] == '+';
    decoded += byte ? *byte : space ? ' ' : text[0];
    text.remove_prefix(byte ? 3 : 1);
  }
  return decoded;
}

}  // namespace

std::optional<std::string> HttpRequest::Parameter(std::string_view name) const {
  const std::string begin = absl::StrCat(std::string(name), "=");
  for (const absl::string_view pair : absl::StrSplit(query, '&')) {
    if (!absl::StartsWith(pair, begin)) continue;
    const std::string_view sent(pair.data() + begin.size(), pair.size() - begin.size());
    std::string value = Decoded(sent, /*plus_is_space=*/true);
    if (value.size() > kMaxValueBytes) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

std::string HttpRequest::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

bool ReadTarget(std::string_view target, HttpRequest& request) {
  constexpr std::string_view kScheme = "http://";  // Proxies send absolute URLs.
  if (target.starts_with(kScheme)) {
    const std::size_t host = kScheme.size();
    target.remove_prefix(std::min(target.find_first_of("/?", host), target.size()));
    if (target.empty() || target[0] == '?') {
      request.path = "/";
      request.query = target.empty() ? "" : target.substr(1);
      return true;
    }
  }
  if (target.empty() || target[0] != '/') return false;
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = Decoded(target.substr(0, mark), /*plus_is_space=*/false);
  request.query = mark == target.size() ? "" : target.substr(mark + 1);
  return true;
}

std::string UrlHost(std::string_view address) {
  const bool ipv6 = address.find(':') != std::string_view::npos;
  return absl::StrCat(ipv6 ? "[" : "", std::string(address), ipv6 ? "]" : "");
}

bool MatchesRoute(std::string_view pattern, std::string_view path,
                  std::vector<std::string>& captures) {
  const std::vector<std::string> wanted = absl::StrSplit(std::string(pattern), '/');
  const std::vector<std::string> given = absl::StrSplit(std::string(path), '/');
  captures.clear();
  if (wanted.size() != given.size()) return false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == "*" && !given[i].empty()) {
      captures.push_back(given[i]);
    } else if (wanted[i] != given[i]) {
      return false;
    }
  }
  return true;
}

namespace {

HttpResponse WrongMethod(std::string_view allowed) {
  const std::string methods = allowed == "GET" ? "GET, HEAD" : std::string(allowed);
  return {.status = 405,
          .body = absl::StrCat("Only ", methods, " is answered here.\n"),
          .headers = {{"Allow", methods}}};
}

/// The text form of a route: "POST /api/streams/NAME/freeze".
std::string TextOf(const HttpRoute& route) {
  const std::string path = absl::StrReplaceAll(route.pattern, {{"*", "NAME"}});
  return route.method == "GET" ? path : absl::StrCat(route.method, " ", path);
}

HttpResponse NothingAt(const std::string& path, const std::vector<HttpRoute>& routes) {
  std::string text = absl::StrCat("There is nothing at ", path, ". There is:\n");
  for (const HttpRoute& route : routes) {
    if (route.listed) absl::StrAppend(&text, "  ", TextOf(route), "\n");
  }
  return {.status = 404, .body = std::move(text)};
}

HttpResponse Failed(const HttpRequest& request, std::string_view why) {
  spdlog::error("http: {} failed: {}", request.path, why);
  return {.status = 500, .body = "The server failed to answer. Its log says why.\n"};
}

}  // namespace

HttpResponse Dispatch(const std::vector<HttpRoute>& routes, HttpRequest request) {
  const HttpRoute* of_another_method = nullptr;
  for (const HttpRoute& route : routes) {
    if (!MatchesRoute(route.pattern, request.path, request.captures)) continue;
    if (route.method != request.method) {
      of_another_method = &route;
      continue;
    }
    try {
      return route.handler(request);
    } catch (const std::exception& error) {
      return Failed(request, error.what());
    } catch (...) {
      return Failed(request, "it threw something that is no std::exception");
    }
  }
  if (of_another_method != nullptr) return WrongMethod(of_another_method->method);
  return NothingAt(request.path, routes);
}

}  // namespace millrace::service
