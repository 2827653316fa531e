#include "service/access/host_pattern.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millrace::service {
namespace {

using Parts = std::vector<std::string>;

constexpr int kIpv4Parts = 4;

/// A net: all addresses that begin with the same bits.
struct Net {
  int family = AF_INET;
  std::array<std::uint8_t, 16> bytes = {};
  int bits = 32;
};

/// Parses one address, as a net of one address.
std::optional<Net> ParseAddress(const std::string& text) {
  Net net;
  if (inet_pton(AF_INET, text.c_str(), net.bytes.data()) == 1) return net;
  net = {.family = AF_INET6, .bits = 128};
  if (inet_pton(AF_INET6, text.c_str(), net.bytes.data()) == 1) return net;
  return std::nullopt;
}

/// Parses a net such as "10.0.0.0/24", or one address.
std::optional<Net> ParseNet(const std::string& text) {
  const Parts parts = absl::StrSplit(text, absl::MaxSplits('/', 1));
  std::optional<Net> net = ParseAddress(parts[0]);
  if (!net || parts.size() == 1) return net;
  int bits = 0;
  if (!absl::SimpleAtoi(parts[1], &bits) || bits < 0 || bits > net->bits) return std::nullopt;
  net->bits = bits;
  return net;
}

bool Contains(const Net& net, const Net& address) {
  if (net.family != address.family) return false;
  for (int bit = 0; bit < net.bits; ++bit) {
    const int mask = 0x80 >> (bit % 8);
    if (((net.bytes[bit / 8] ^ address.bytes[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

bool HasOnly(std::string_view text, std::string_view characters) {
  return text.find_first_not_of(characters) == std::string_view::npos;
}

/// Whether `pattern` has only IPv4 numbers and stars. Such a pattern must not match a name.
bool IsOfNumbers(std::string_view pattern) { return HasOnly(pattern, "0123456789.*"); }

/// Whether one part matches. `*` matches any number of characters.
bool PartMatches(std::string_view text, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return text == pattern;
  if (text.substr(0, star) != pattern.substr(0, star)) return false;
  for (std::size_t end = star; end <= text.size(); ++end) {
    if (PartMatches(text.substr(end), pattern.substr(star + 1))) return true;
  }
  return false;
}

bool PartsMatch(const std::string& host, const std::string& pattern) {
  const Parts texts = absl::StrSplit(host, '.');
  const Parts patterns = absl::StrSplit(pattern, '.');
  return std::equal(texts.begin(), texts.end(), patterns.begin(), patterns.end(), PartMatches);
}

bool IsNumberPattern(const std::string& part) {
  int number = 0;
  if (part.find('*') != std::string::npos) return part.size() <= 3;
  return absl::SimpleAtoi(part, &number) && number <= 255 && absl::StrCat(number) == part;
}

bool IsNamePattern(const std::string& part) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-_*";
  return !part.empty() && HasOnly(part, kAllowed);
}

bool IsPattern(const std::string& pattern) {
  if (pattern == "*" || ParseNet(pattern)) return true;
  const Parts parts = absl::StrSplit(pattern, '.');
  if (!IsOfNumbers(pattern)) return std::all_of(parts.begin(), parts.end(), IsNamePattern);
  return parts.size() == kIpv4Parts && std::all_of(parts.begin(), parts.end(), IsNumberPattern);
}

}  // namespace

absl::Status CheckHostPattern(std::string_view pattern) {
  if (IsPattern(absl::AsciiStrToLower(std::string(pattern)))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", std::string(pattern),
                   "' is no pattern of hosts; write a name such as gate.example.org, with * for "
                   "one part of it as in *.example.org. Also possible: four numbers as in "
                   "10.0.0.*, a net such as 10.0.0.0/24 or fd00::/8, or * for every host"));
}

bool HostMatches(std::string_view host, std::string_view pattern) {
  const std::string text = absl::AsciiStrToLower(std::string(host));
  const std::string wanted = absl::AsciiStrToLower(std::string(pattern));
  if (wanted == "*") return true;
  const std::optional<Net> address = ParseAddress(text);
  if (const std::optional<Net> net = ParseNet(wanted)) return address && Contains(*net, *address);
  if (IsOfNumbers(wanted) != address.has_value()) return false;
  return IsPattern(wanted) && PartsMatch(text, wanted);
}

}  // namespace millrace::service
