// Configurations that are out to do harm, or were damaged: read or refused, never a crash.
#include <cstddef>
#include <random>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "service/config/config.h"
#include "tests/service/support/config_texts.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

TEST(ConfigTest, DeepNestingIsAnError) {
  EXPECT_FALSE(ParseConfig(std::string(100'000, '['), "c").ok());
  EXPECT_FALSE(ParseConfig(std::string(100'000, '{'), "c").ok());
}

constexpr char kTooMuch[] = "here are more than 100 levels or 200000 values";

/// Lists that each hold the one before twice: "a0: &a0 [x, x]", "a1: &a1 [*a0, *a0]".
std::string GrowingLists(int lists, const std::string& indent) {
  std::string yaml = indent + "a0: &a0 [x, x]\n";
  for (int i = 1; i < lists; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    const std::string name = "a" + std::to_string(i);
    yaml += indent + name + ": &" + name + " [" + before + ", " + before + "]\n";
  }
  return yaml;
}

TEST(ConfigTest, AliasesThatGrowExponentiallyAreAnError) {
  for (const std::string& yaml :
       {File("") + GrowingLists(64, ""),
        "version: 1\nstreams:\n- name: a\n  source: {uri: 'test:'}\n" + GrowingLists(64, "  ")}) {
    EXPECT_THAT(ParseConfig(yaml, "c").status().message(), HasSubstr(kTooMuch)) << yaml;
  }
}

TEST(ConfigTest, AnAliasWithinItselfIsAnErrorWithAPlace) {
  EXPECT_THAT(ParseConfig("version: 1\nstreams: &a [*a]\n", "c").status().message(),
              HasSubstr(absl::StrCat("c:2:10: ", kTooMuch)));
  EXPECT_THAT(ParseConfig(Stream("source: {uri: 'test:'}, model: &m {network: [*m]}"), "c")
                  .status()
                  .message(),
              HasSubstr(kTooMuch));
  EXPECT_THAT(ParseStreamEntry("&a {name: a, source: *a}", "config", {}).status().message(),
              HasSubstr(kTooMuch));
}

// What a slip of the hand, a lost disk block or an attacker makes of a good file is a good
// configuration or an error with a place, never a crash.
TEST(ConfigTest, MangledFilesAreReadOrRefused) {
  const std::string good = SampleText();
  const std::string_view spice = "{}[]:,-#&*!|>'\"%@`~?\n\t \\\0\xff";
  std::mt19937 random(7);
  for (int i = 0; i < 1500; ++i) {
    std::string yaml = good;
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % yaml.size();
      switch (random() % 4) {
        case 0:
          yaml.resize(at + 1);
          break;
        case 1:
          yaml.erase(at, random() % 40);
          break;
        case 2:
          yaml.insert(at, yaml.substr(random() % yaml.size(), random() % 40));
          break;
        default:
          yaml[at] = spice[random() % spice.size()];
      }
      if (yaml.empty()) yaml = " ";
    }
    const absl::StatusOr<Config> config = ParseConfig(yaml, "c");
    if (!config.ok()) {
      ASSERT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
      ASSERT_THAT(std::string(config.status().message()),
                  testing::MatchesRegex("(c:[0-9]+:[0-9]+: .*\n?)+"));
    }
  }
}

}  // namespace
}  // namespace millrace::service
