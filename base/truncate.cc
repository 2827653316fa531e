#include "base/truncate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace millrace::service {
namespace {

constexpr std::size_t kMaxListLength = 500;
constexpr std::string_view kCut = "...";
// "\n... and 1000000 more".
constexpr std::size_t kMaxEndLength = 32;

std::size_t HeaderBytesOf(char c) { return c >= ' ' && c <= '~' && c != '%' ? 1 : 3; }

bool ContinuesCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The length of the longest prefix of `text` that fits, in whole characters.
std::size_t Fitting(std::string_view text, std::size_t max_bytes) {
  std::size_t bytes = 0;
  std::size_t end = 0;
  while (end < text.size() && bytes + HeaderBytesOf(text[end]) <= max_bytes) {
    bytes += HeaderBytesOf(text[end++]);
  }
  while (end > 0 && end < text.size() && ContinuesCharacter(text[end])) --end;
  return end;
}

}  // namespace

std::string ShortList(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0 && list.size() + names[i].size() > kMaxListLength) {
      return absl::StrCat(list, " and ", names.size() - i, " more");
    }
    absl::StrAppend(&list, i > 0 ? ", " : "", names[i]);
  }
  return list;
}

std::size_t HeaderBytes(std::string_view text) {
  std::size_t bytes = 0;
  for (const char c : text) bytes += HeaderBytesOf(c);
  return bytes;
}

std::string Truncated(std::string_view text, std::size_t max_bytes) {
  MILLRACE_CHECK(max_bytes >= 2 * kMaxEndLength);
  if (HeaderBytes(text) <= max_bytes) return std::string(text);
  const std::string_view kept = text.substr(0, Fitting(text, max_bytes - kMaxEndLength));
  const std::size_t line_end = kept.rfind('\n');
  if (line_end == std::string_view::npos) return absl::StrCat(std::string(kept), std::string(kCut));
  const auto left =
      std::count(text.begin() + static_cast<std::ptrdiff_t>(line_end), text.end(), '\n');
  return absl::StrCat(std::string(kept.substr(0, line_end)), "\n... and ", left, " more");
}

}  // namespace millrace::service
