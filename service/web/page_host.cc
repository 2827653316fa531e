#include "service/web/page_host.h"

#include <arpa/inet.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

/// "127.0.0.1:8080" -> "127.0.0.1", "[::1]:8080" -> "::1".
std::string NameOfHost(const std::string& host) {
  if (absl::StartsWith(host, "[")) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool IsAddress(const std::string& name) {
  in6_addr parsed;
  return inet_pton(AF_INET, name.c_str(), &parsed) == 1 ||
         inet_pton(AF_INET6, name.c_str(), &parsed) == 1;
}

bool NameIsToTrust(const HttpRequest& request) {
  return NamesAnAddress(request) || !request.Header("sec-fetch-site").empty() ||
         !request.Header("via").empty();
}

HttpResponse Misdirected(const HttpRequest& request) {
  return {
      .status = 421,
      .body = absl::StrCat(
          "This page is for its own machine, and not known as '", request.Header("host"),
          "': open it by its address, as http://127.0.0.1:8080. A proxy in front of it may have "
          "a name if it speaks TLS or says Via; any other has to send 'Host: 127.0.0.1'.\n")};
}

}  // namespace

bool NamesAnAddress(const HttpRequest& request) {
  const std::string name = NameOfHost(request.Header("host"));
  return IsAddress(name) || absl::EqualsIgnoreCase(name, "localhost");
}

bool WasForwarded(const HttpRequest& request) {
  return std::ranges::any_of(request.headers, [](const auto& header) {
    const std::string& name = header.first;
    return name == "forwarded" || name == "via" || name == "x-real-ip" ||
           absl::StartsWith(name, "x-forwarded-");
  });
}

std::string OriginOf(const HttpRequest& request) {
  if (std::string origin = request.Header("origin"); !origin.empty()) return origin;
  const std::string referer = request.Header("referer");
  const std::size_t host = referer.find("://");
  return host == std::string::npos ? "" : referer.substr(0, referer.find('/', host + 3));
}

bool IsOfAnotherSite(const HttpRequest& request) {
  const std::string site = request.Header("sec-fetch-site");
  return !site.empty() && site != "same-origin" && site != "none";
}

std::vector<HttpRoute> UnderTrustedNames(std::vector<HttpRoute> routes) {
  for (HttpRoute& route : routes) {
    route.handler = [answer = std::move(route.handler)](const HttpRequest& request) {
      return NameIsToTrust(request) ? answer(request) : Misdirected(request);
    };
  }
  return routes;
}

}  // namespace millrace::service
