// docs/streams.md lists exactly the reasons of errors in the sources.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace millrace::service {
namespace {

namespace fs = std::filesystem;

/// A reason and its code: "STREAM_EXISTS", "ALREADY_EXISTS".
using Reasons = std::set<std::pair<std::string, std::string>>;

std::string Read(const fs::path& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in.is_open()) << file;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// "ALREADY_EXISTS" of "AlreadyExists".
std::string CodeOf(const std::string& name) {
  std::string code;
  for (const char letter : name) {
    if (absl::ascii_isupper(letter) && !code.empty()) code += '_';
    code += absl::ascii_toupper(letter);
  }
  return code;
}

/// Adds the reasons that `source` gives to WithReason(), each with the next status.
void AddReasonsIn(const std::string& source, Reasons& reasons) {
  const std::regex given(R"re(\bWithReason\(\s*"([A-Z_]+)")re");
  const std::regex status(R"(absl::(\w+)Error\()");
  for (auto at = std::sregex_iterator(source.begin(), source.end(), given);
       at != std::sregex_iterator(); ++at) {
    std::smatch next;
    const auto behind = (*at)[0].second;
    ASSERT_TRUE(std::regex_search(behind, source.end(), next, status)) << at->str();
    reasons.emplace((*at)[1], CodeOf(next[1]));
  }
}

/// Those of the table whose lines are "| `REASON`, `REASON` | `CODE` |".
Reasons Documented() {
  Reasons reasons;
  std::ifstream in(MILLRACE_SOURCE_DIR "/docs/streams.md");
  std::string line;
  while (std::getline(in, line) && line != "| reason | code |") continue;
  const std::regex name("`([A-Z_]+)`");
  while (std::getline(in, line) && absl::StartsWith(line, "|")) {
    std::vector<std::string> names;
    for (auto at = std::sregex_iterator(line.begin(), line.end(), name);
         at != std::sregex_iterator(); ++at) {
      names.push_back((*at)[1]);
    }
    for (std::size_t i = 0; i + 1 < names.size(); ++i) reasons.emplace(names[i], names.back());
  }
  return reasons;
}

TEST(ErrorReasonsTest, AreThoseOfTheDocumentation) {
  Reasons given;
  for (const char* folder : {MILLRACE_SOURCE_DIR "/base", MILLRACE_SOURCE_DIR "/service"}) {
    for (const auto& file : fs::recursive_directory_iterator(folder)) {
      if (file.path().extension() == ".cc") AddReasonsIn(Read(file.path()), given);
    }
  }
  EXPECT_GT(given.size(), 20u);
  EXPECT_THAT(Documented(), ::testing::ContainerEq(given));
}

}  // namespace
}  // namespace millrace::service
