#include "ingest/frame/image_folder.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/regular_file.h"

namespace millrace::ingest {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxImageBytes = 32 << 20;

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

std::size_t DigitsAt(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end - at;
}

/// Removes the leading digits of both. The result is below 0 if the number in `a` is smaller.
int CompareNumbers(std::string_view& a, std::string_view& b) {
  std::string_view number_a = a.substr(0, DigitsAt(a, 0));
  std::string_view number_b = b.substr(0, DigitsAt(b, 0));
  a.remove_prefix(number_a.size());
  b.remove_prefix(number_b.size());
  const auto without_zeros = [](std::string_view number) {
    return number.substr(std::min(number.find_first_not_of('0'), number.size()));
  };
  number_a = without_zeros(number_a);
  number_b = without_zeros(number_b);
  if (number_a.size() != number_b.size()) return number_a.size() < number_b.size() ? -1 : 1;
  return number_a.compare(number_b);
}

bool IsImage(const fs::path& path) {
  static constexpr std::array<std::string_view, 3> kEndings = {".png", ".jpg", ".jpeg"};
  const std::string ending = absl::AsciiStrToLower(path.extension().string());
  return std::ranges::find(kEndings, ending) != kEndings.end();
}

bool IsPattern(const std::string& name) { return name.find_first_of("*?[") != std::string::npos; }

absl::Status CannotBeRead(const fs::path& folder, const std::error_code& why) {
  const std::string shown = folder.string();
  if (why == std::errc::no_such_file_or_directory || why == std::errc::not_a_directory) {
    return absl::NotFoundError(absl::StrCat("there is no folder ", shown));
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the folder ", shown, " cannot be read: ", why.message()));
}

}  // namespace

bool NaturallyLess(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      if (const int order = CompareNumbers(a, b); order != 0) return order < 0;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  if (whole_a.size() != whole_b.size()) return whole_a.size() < whole_b.size();
  return whole_a < whole_b;
}

bool NamesImages(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return true;
  return IsPattern(fs::path(path).filename().string()) && !fs::exists(path, ignored);
}

absl::StatusOr<std::vector<std::string>> ListImages(const std::string& path) {
  std::error_code error;
  const bool whole = fs::is_directory(path, error);
  const fs::path folder = whole ? fs::path(path) : fs::path(path).parent_path();
  const std::string pattern = whole ? "*" : fs::path(path).filename().string();
  std::vector<std::string> names;
  fs::directory_iterator entry(folder.empty() ? fs::path(".") : folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    const bool wanted = fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
    if (wanted && IsImage(name) && !entry->is_directory(ignored)) names.push_back(name);
  }
  if (error) return CannotBeRead(folder, error);
  if (names.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(whole ? "the folder has" : "there are", " no images whose names end in .png, ",
                     ".jpg or .jpeg", whole ? "" : " and match this pattern"));
  }
  std::ranges::sort(names, NaturallyLess);
  for (std::string& name : names) name = (folder / name).string();
  return names;
}

absl::StatusOr<std::string> ReadImage(const std::string& path) {
  absl::StatusOr<std::string> bytes = ContentOf(path, kMaxImageBytes);
  if (bytes.ok()) return bytes;
  return absl::Status(bytes.status().code(),
                      absl::StrCat("it cannot be read: ", bytes.status().message()));
}

}  // namespace millrace::ingest
