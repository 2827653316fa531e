#include "service/commands/rank_arguments.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "service/access/private_file.h"
#include "service/net/http_message.h"

namespace millrace::service {
namespace {

constexpr int kMaxPort = 65535;

// The host and, behind it, nothing or ":PORT".
struct Parts {
  absl::string_view host;
  absl::string_view rest;
};

Parts Split(absl::string_view text) {
  if (absl::StartsWith(text, "[")) {
    const std::size_t end = text.find(']');
    if (end == absl::string_view::npos) return {};
    return {.host = text.substr(1, end - 1), .rest = text.substr(end + 1)};
  }
  const std::size_t colon = text.find(':');
  // More than one colon: an address of IPv6 without a port.
  if (colon == absl::string_view::npos || text.find(':', colon + 1) != absl::string_view::npos) {
    return {.host = text, .rest = {}};
  }
  return {.host = text.substr(0, colon), .rest = text.substr(colon)};
}

// An address of IPv6 with a port needs brackets. Without them, inet_pton() refuses it: the port's
// five digits are too long for a part of an address.
bool IsHost(const std::string& host) {
  if (absl::StrContains(host, ":")) {
    in6_addr parsed;
    return ::inet_pton(AF_INET6, host.c_str(), &parsed) == 1;
  }
  const bool is_port = !host.empty() && std::ranges::all_of(host, absl::ascii_isdigit);
  return !host.empty() && !is_port && !absl::StrContains(host, "/") &&
         !absl::StrContains(host, " ");
}

}  // namespace

absl::StatusOr<HostAndPort> ParseHostAndPort(std::string_view text, std::string_view option) {
  const Parts parts =
      Split(absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size())));
  HostAndPort address{.host = std::string(parts.host)};
  absl::string_view port = parts.rest;
  const bool has_port = absl::ConsumePrefix(&port, ":");
  const bool is_number = absl::SimpleAtoi(port, &address.port);
  const bool is_port = is_number && address.port >= 0 && address.port <= kMaxPort;
  const bool good_rest = has_port ? is_port : parts.rest.empty();
  const bool good_host = IsHost(address.host);
  if (!has_port) address.port = kUsualRankPort;
  if (good_rest && good_host) return address;
  return absl::InvalidArgumentError(
      absl::StrCat(std::string(option), ": '", std::string(text),
                   "' is no address; write HOST:PORT, such as 10.0.0.1:29500 or [fd00::1]:29500"));
}

bool NamesHost(std::string_view address) {
  return !address.starts_with(':') || address.starts_with("::");
}

std::string ToString(const HostAndPort& address) {
  return absl::StrCat(UrlHost(address.host), ":", address.port);
}

absl::StatusOr<std::string> ReadRankSecret(const std::string& path, std::string_view option) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, ReadPrivateFile(path, option));
  const absl::string_view secret = absl::StripAsciiWhitespace(text);
  if (!secret.empty()) return std::string(secret);
  return absl::InvalidArgumentError(absl::StrCat(std::string(option), ": ", path, " is empty"));
}

}  // namespace millrace::service
