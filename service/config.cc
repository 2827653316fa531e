#include "service/config.h"

#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "service/config_schema.h"
#include "service/config_value.h"

namespace millrace::service {
namespace {

/// The file's one document, or an error noted.
std::optional<YAML::Node> Parse(std::string_view yaml, ConfigErrors& errors) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(yaml));
    if (documents.size() == 1 && !documents.front().IsNull()) return documents.front();
    errors.Add({}, documents.size() > 1 ? "there is more than one document; keep just one"
                                        : "the file is empty; begin with 'version: 1'");
  } catch (const YAML::Exception& error) {
    errors.Add(error.mark, absl::StrCat("this is not YAML: ", error.msg));
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view name) {
  ConfigErrors errors(name);
  Config config;
  if (const std::optional<YAML::Node> node = Parse(yaml, errors)) {
    ReadConfig(ConfigValue("the file", *node, errors), config);
  }
  if (absl::Status status = errors.status(); !status.ok()) return status;
  return config;
}

absl::StatusOr<Config> LoadConfig(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  file.peek();  // A folder opens, but cannot be read.
  if (!file.is_open() || file.bad()) {
    return absl::NotFoundError(
        absl::StrCat(path, ": cannot be read: ", std::generic_category().message(errno)));
  }
  std::ostringstream text;
  text << file.rdbuf();
  return ParseConfig(text.str(), path);
}

}  // namespace millrace::service
