#include "service/commands/watch/watch_failure.h"

#include <array>
#include <cstddef>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millrace::service {
namespace {

// The start of gRPC 1.51's message for a failed connection.
constexpr char kNoConnection[] = "failed to connect to all addresses";
constexpr char kServer[] = "does `millrace serve` run there?";

/// The text between `before` and `after`; empty if they are not in `text`.
std::string Between(const std::string& text, std::string_view before, std::string_view after) {
  const std::size_t found = text.find(before);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + before.size();
  const std::size_t end = text.find(after, begin);
  return end == std::string::npos ? "" : text.substr(begin, end - begin);
}

/// The text after the last colon, with a lower-case first letter: "connection refused".
std::string LastPartOf(const std::string& text) {
  const std::size_t colon = text.rfind(": ");
  std::string last = colon == std::string::npos ? text : text.substr(colon + 2);
  if (!last.empty()) last[0] = absl::ascii_tolower(static_cast<unsigned char>(last[0]));
  return last;
}

bool EndedAtOnce(const std::string& said) {
  constexpr auto kEnds = std::to_array<const char*>(
      {"Socket closed", "Connection reset", "Broken pipe", "certificate required"});
  for (const char* const end : kEnds) {
    if (absl::StrContains(said, end)) return true;
  }
  return false;
}

/// A server ends the connection if the client lacks TLS or a certificate, and does not say which.
std::string OfOneThatEnded(const WatchSecurity& security) {
  const std::string ended = "the server ended the connection at once; ";
  if (!SpeaksTls(security)) {
    return ended + "if it speaks TLS, add --tls, or --ca FILE with the certificate authority";
  }
  if (security.certificate_file.empty()) {
    return ended + "if it requires client certificates, add --certificate FILE --key FILE";
  }
  return absl::StrCat(ended, "does it trust --certificate ", security.certificate_file, "?");
}

std::string OfOneThatIsNotTrusted(const WatchSecurity& security) {
  if (security.ca_file.empty()) {
    return "this machine does not trust the server's certificate, or it has expired; name the "
           "certificate of its authority with --ca FILE";
  }
  return absl::StrCat("none of the certificates in --ca ", security.ca_file,
                      " has signed the server's, or it has expired; name the certificate of its "
                      "authority");
}

std::string OfConnection(const std::string& said, const WatchSecurity& security) {
  if (const std::string name = Between(said, "Peer name ", " is not in peer"); !name.empty()) {
    return absl::StrCat("the server's certificate is not for the name '", name,
                        "'; give one of its names with --server-name NAME");
  }
  if (absl::StrContains(said, "certificate verify failed")) return OfOneThatIsNotTrusted(security);
  if (absl::StrContains(said, "wrong version number")) {
    return "the server does not speak TLS; leave out --tls, --ca, --certificate and --key";
  }
  if (EndedAtOnce(said)) return OfOneThatEnded(security);
  if (absl::StrContains(said, "Connection refused")) {
    return absl::StrCat("nothing listens there; ", kServer);
  }
  return absl::StrCat(
      "no connection: ", LastPartOf(said), " (", kServer,
      SpeaksTls(security) ? " Does it speak TLS?)" : " If it speaks TLS, add --tls, or --ca FILE)");
}

}  // namespace

std::string FailureInWords(const absl::Status& why, const WatchSecurity& security) {
  std::string said(why.message());
  if (absl::IsUnauthenticated(why)) {
    if (security.token_file.empty()) {
      return "the server wants a token; name the file that holds one with --token-file FILE";
    }
    return absl::StrCat(said, "; it is that of --token-file ", security.token_file);
  }
  if (!absl::IsUnavailable(why)) return said;
  if (absl::StartsWith(said, kNoConnection)) return OfConnection(said, security);
  return absl::StrCat(said, " (", kServer, ")");
}

}  // namespace millrace::service
