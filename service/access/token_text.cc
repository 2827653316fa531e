#include "service/access/token_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace millrace::service {
namespace {

/// Whether a line begins like one of the server's file: "view TOKEN" or "control TOKEN".
bool BeginsWithRole(absl::string_view line) {
  line = absl::StripLeadingAsciiWhitespace(line);
  return (absl::ConsumePrefix(&line, "view") || absl::ConsumePrefix(&line, "control")) &&
         !line.empty() && absl::ascii_isspace(static_cast<unsigned char>(line.front()));
}

bool IsListOfTokens(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, absl::ByAnyChar("\r\n"));
  return std::ranges::any_of(lines, BeginsWithRole);
}

/// The reason why `said` is not a token. Empty if it is one.
std::string_view FaultOf(absl::string_view said) {
  if (said.empty()) return "is empty";
  if (IsListOfTokens(said)) return "is a server's list of tokens";
  if (absl::StrContains(said, "-----BEGIN ")) return "is a file in PEM";
  if (said.find_first_of("\r\n") != absl::string_view::npos) return "has several lines";
  if (said.size() > kMaxTokenBytes) return "holds more than a token";
  if (!std::ranges::all_of(said, IsTokenCharacter)) {
    return "holds characters that no token has (it may have letters, digits and - . _ ~ + / =)";
  }
  return {};
}

}  // namespace

bool IsTokenCharacter(unsigned char c) {
  return absl::ascii_isalnum(c) ||
         std::string_view("-._~+/=").find(static_cast<char>(c)) != std::string_view::npos;
}

absl::StatusOr<std::string> TokenAlone(std::string_view text, std::string_view option,
                                       std::string_view path) {
  const absl::string_view said =
      absl::StripAsciiWhitespace(absl::string_view(text.data(), text.size()));
  const std::string_view fault = FaultOf(said);
  if (fault.empty()) return std::string(said);
  return absl::InvalidArgumentError(absl::StrCat(std::string(option), ": ", std::string(path), " ",
                                                 std::string(fault),
                                                 "; give a file with one token alone"));
}

}  // namespace millrace::service
