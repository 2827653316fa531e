#include "service/access/peer_address.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "base/log_about.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

std::string AddressOf(std::string_view peer) {
  const std::string text =
      absl::StrReplaceAll(std::string(peer), {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  const std::size_t end = text.rfind(':');
  if (absl::StartsWith(text, "ipv4:")) return text.substr(5, end - 5);
  if (!absl::StartsWith(text, "ipv6:[") || end < 7) return "";
  return text.substr(6, end - 7);
}

void LogChange(const std::string& client, const std::string& stream, const std::string& did) {
  const LogAbout about(stream);
  spdlog::info("stream '{}': a client{}{} has {}", stream, client.empty() ? "" : " at ", client,
               did);
}

}  // namespace millrace::service
