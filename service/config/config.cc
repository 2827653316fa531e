#include "service/config/config.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error_reason.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "service/config/config_file.h"
#include "service/config/config_keys.h"
#include "service/config/config_value.h"

namespace millrace::service {
namespace {

/// Ignores all events of a document.
struct Ignore final : YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

/// The number of documents; 2 means two or more. YAML::LoadAll() never ends if a document begins
/// with a comma: the parser returns an empty document and does not consume the comma.
int CountDocuments(const std::string& yaml) {
  std::istringstream text(yaml);
  YAML::Parser parser(text);
  Ignore events;
  int documents = 0;
  while (documents < 2 && parser.HandleNextDocument(events)) ++documents;
  return documents;
}

// An alias of three letters stands for everything below its anchor, possibly itself. No real
// configuration comes near either limit.
constexpr int kMaxLevels = 100;
constexpr int kMaxNodes = 200'000;

/// The place where a limit is exceeded, with each alias expanded. `level` is the depth of `node`;
/// `left` is the number of further nodes allowed.
std::optional<YAML::Mark> WhereTooMuch(const YAML::Node& node, int level, int& left) {
  if (level > kMaxLevels || --left < 0) return node.Mark();
  if (!node.IsSequence() && !node.IsMap()) return std::nullopt;
  for (const auto& entry : node) {
    std::optional<YAML::Mark> where;
    if (node.IsMap()) {
      where = WhereTooMuch(entry.first, level + 1, left);
      if (!where) where = WhereTooMuch(entry.second, level + 1, left);
    } else {
      where = WhereTooMuch(entry, level + 1, left);
    }
    if (where) return where;
  }
  return std::nullopt;
}

/// Notes an error if a walk over all nodes of `document` would not end.
bool CanBeWalked(const YAML::Node& document, ConfigErrors& errors) {
  int left = kMaxNodes;
  const std::optional<YAML::Mark> where = WhereTooMuch(document, 1, left);
  if (!where) return true;
  errors.Add(*where, "",
             absl::StrCat("here are more than ", kMaxLevels, " levels or ", kMaxNodes,
                          " values, an alias counted as all that it stands for; look for one that "
                          "stands within itself, or write out what it stands for"));
  return false;
}

/// The file's only document. Otherwise notes an error.
std::optional<YAML::Node> Parse(std::string_view yaml, ConfigErrors& errors) {
  try {
    const std::string text(yaml);
    const int documents = CountDocuments(text);
    if (documents == 1) {
      YAML::Node document = YAML::Load(text);
      if (!CanBeWalked(document, errors)) return std::nullopt;
      if (!document.IsNull()) return document;
    }
    errors.Add({}, "",
               documents > 1 ? "there is more than one document; keep just one"
                             : "the file is empty; begin with 'version: 1'");
  } catch (const YAML::Exception& error) {
    errors.Add(error.mark, "", absl::StrCat("this is not YAML: ", error.msg));
  }
  return std::nullopt;
}

// The size limit is above that of any configuration. kPatience limits the wait for a program that
// writes the file into a pipe.
constexpr std::uint64_t kMaxBytes = 16 << 20;
constexpr std::chrono::seconds kPatience(30);

absl::StatusOr<std::string> OrNotFound(absl::StatusOr<std::string> text) {
  if (!text.ok()) return absl::NotFoundError(text.status().message());
  return text;
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  return OrNotFound(ReadFileOrPipe(path, kMaxBytes, kPatience));
}

/// The base of relative paths in the file. A pipe has no folder.
std::string FolderOf(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return "";
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

ConfigFile ParseConfigFile(std::string_view yaml, std::string_view name,
                           const std::string& folder) {
  ConfigErrors errors(folder);
  ConfigFile file{.name = std::string(name)};
  file.config.defaults.folder = folder;
  if (const std::optional<YAML::Node> node = Parse(yaml, errors)) {
    ReadConfig(ConfigValue("the file", *node, errors), file.config);
    file.places = ConfigPlaces(*node);
  }
  file.problems = errors.problems();
  return file;
}

absl::StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view name,
                                   const std::string& folder) {
  ConfigFile file = ParseConfigFile(yaml, name, folder);
  MILLRACE_RETURN_IF_ERROR(AsStatus(file.name, std::move(file.problems)));
  return std::move(file.config);
}

absl::StatusOr<StreamConfig> ParseStreamEntry(std::string_view text, std::string_view field,
                                              const StreamConfig& defaults) {
  ConfigErrors errors(defaults.folder);
  StreamConfig stream = defaults;
  if (const std::optional<YAML::Node> node = Parse(text, errors)) {
    ReadStream(ConfigValue("it", *node, errors, std::string(field)), stream);
  }
  std::vector<FieldViolation> wrong = errors.violations();
  for (FieldViolation& violation : wrong) {
    if (violation.field.empty()) violation.field = field;  // A YAML syntax error has no field.
  }
  if (!wrong.empty()) return InvalidFields(wrong);
  return stream;
}

absl::StatusOr<ConfigFile> LoadConfigFile(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return ParseConfigFile(text, path, FolderOf(path));
}

absl::StatusOr<Config> LoadConfigAgain(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, OrNotFound(ReadFile(path, kMaxBytes)));
  return ParseConfig(text, path, FolderOf(path));
}

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  MILLRACE_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return ParseConfig(text, path, FolderOf(path));
}

}  // namespace millrace::service
