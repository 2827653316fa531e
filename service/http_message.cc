#include "service/http_message.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "civetweb.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

std::optional<std::string> HttpRequest::Parameter(std::string_view name) const {
  char value[256];
  const int length =
      mg_get_var(query.data(), query.size(), std::string(name).c_str(), value, sizeof(value));
  if (length < 0) return std::nullopt;
  return std::string(value, static_cast<std::size_t>(length));
}

std::string HttpRequest::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
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

/// "POST /api/streams/NAME/freeze" of a route.
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
      spdlog::error("http: {} failed: {}", request.path, error.what());
      return {.status = 500, .body = "The server failed to answer. Its log says why.\n"};
    }
  }
  if (of_another_method != nullptr) return WrongMethod(of_another_method->method);
  return NothingAt(request.path, routes);
}

}  // namespace millrace::service
