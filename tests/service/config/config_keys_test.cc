// The sample explains every key in the words of its table.
#include "service/config/config_keys.h"

#include <set>
#include <sstream>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/service/support/config_texts.h"

namespace millrace::service {
namespace {

using ::testing::HasSubstr;

/// Calls `visit` for each key of `keys` and of their sections.
template <typename Visit>
void ForEachKey(ConfigKeys keys, const Visit& visit) {
  for (const ConfigKey& key : keys) {
    visit(key);
    if (const auto* section = std::get_if<SectionType>(&key.type)) {
      ForEachKey(section->keys(), visit);
    } else if (const auto* sections = std::get_if<SectionsType>(&key.type)) {
      ForEachKey(sections->keys(), visit);
    }
  }
}

std::set<std::string> KeyNames() {
  std::set<std::string> names;
  ForEachKey(FileKeys(), [&names](const ConfigKey& key) { names.emplace(key.name); });
  return names;
}

/// The sample without indentation, "# " and "- ". A line of a comment runs on into the next one:
/// "\nThe live page, for browsers. http_port: 8080\n".
std::string JoinedSample() {
  const std::set<std::string> names = KeyNames();
  std::istringstream sample(SampleText());
  std::string joined;
  for (std::string line; std::getline(sample, line);) {
    line.erase(0, line.find_first_not_of(' '));
    const bool comment = line.starts_with("# ");
    if (comment || line.starts_with("- ")) line.erase(0, 2);
    const bool text = comment && !names.contains(line.substr(0, line.find(':')));
    absl::StrAppend(&joined, line, text ? " " : "\n");
  }
  return joined;
}

TEST(ConfigKeysTest, TheSampleExplainsEachKeyInTheWordsOfItsTable) {
  const std::string sample = JoinedSample();
  ForEachKey(FileKeys(), [&sample](const ConfigKey& key) {
    const std::string name(key.name);
    if (name == "certificate" || name == "key" || name == "client_ca") {  // Listed within `tls`.
      EXPECT_THAT(sample, HasSubstr(name + ": "));
      return;
    }
    const std::string help(key.help);
    EXPECT_THAT(sample, HasSubstr(absl::StrCat("\n", help, help.empty() ? "" : " ", name, ":")));
  });
}

}  // namespace
}  // namespace millrace::service
