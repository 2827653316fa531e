#include "service/commands/evaluate/pairs_list.h"

#include <cstddef>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/plural.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;

// A list of pairs is smaller.
constexpr std::size_t kMaxBytes = 1 << 20;

/// The words of a line without its comment. nullopt: a quote does not end.
std::optional<std::vector<std::string>> WordsOf(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string> words;
  for (;;) {
    const std::size_t start = line.find_first_not_of(kBlanks);
    if (start == std::string_view::npos || line[start] == '#') return words;
    line.remove_prefix(start);
    const bool quoted = line.front() == '"';
    if (quoted) line.remove_prefix(1);
    const std::size_t end = quoted ? line.find('"') : line.find_first_of(kBlanks);
    if (quoted && end == std::string_view::npos) return std::nullopt;
    words.emplace_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(quoted ? end + 1 : end);
  }
}

absl::StatusOr<ListedPairs> PairsOf(const std::vector<std::string>& words, const fs::path& folder,
                                    PictureSize usual) {
  if (words.size() < 2 || words.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat("has ", Plural(words.size(), "word")));
  }
  ListedPairs pairs{.place = {},
                    .name = {},
                    .pictures = (folder / words[0]).lexically_normal(),
                    .truth = (folder / words[1]).lexically_normal(),
                    .size = usual};
  if (words.size() == 3) {
    const std::optional<PictureSize> size = PictureSizeOf(words[2]);
    if (!size) return absl::InvalidArgumentError(absl::StrCat("has '", words[2], "' as its size"));
    pairs.size = *size;
  }
  pairs.name = absl::StrCat(words[0], " ", pairs.size.width, "x", pairs.size.height);
  return pairs;
}

}  // namespace

std::optional<PictureSize> PictureSizeOf(const std::string& text) {
  const std::vector<std::string> sides = absl::StrSplit(text, 'x');
  PictureSize size;
  if (sides.size() == 2 && absl::SimpleAtoi(sides[0], &size.width) &&
      absl::SimpleAtoi(sides[1], &size.height) && size.width > 0 && size.height > 0) {
    return size;
  }
  return std::nullopt;
}

absl::StatusOr<std::vector<ListedPairs>> ReadPairsList(const std::string& path, PictureSize usual) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxBytes));
  const auto wrong = [&path](int line, std::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ":", line, ": ", std::string(what),
                     "; a line is PICTURES TRUTH [WIDTHxHEIGHT], a path with spaces in \"...\""));
  };
  std::vector<ListedPairs> list;
  int number = 0;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    ++number;
    const std::optional<std::vector<std::string>> words = WordsOf(line);
    if (!words) return wrong(number, "has a quote that does not end");
    if (words->empty()) continue;
    absl::StatusOr<ListedPairs> pairs = PairsOf(*words, fs::path(path).parent_path(), usual);
    if (!pairs.ok()) return wrong(number, std::string(pairs.status().message()));
    list.push_back(*std::move(pairs));
    list.back().place = absl::StrCat(path, ":", number);
  }
  if (list.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": names no pictures"));
  return list;
}

}  // namespace millrace::service
