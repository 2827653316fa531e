// The configuration file: read, or refused with a message. The entry of each stream gives the same
// stream again.
#include "service/config/config.h"

#include <string>

#include "service/config/config_entry.h"
#include "tests/fuzz/fuzzer.h"

using namespace millrace;
using namespace millrace::service;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const absl::StatusOr<Config> config = ParseConfig(TextOf(data, size), "fuzz.yaml");
  if (!config.ok()) {
    Require(absl::IsInvalidArgument(config.status()), "what is refused is INVALID_ARGUMENT");
    Require(config.status().message().find("fuzz.yaml:") == 0, "a message names the file");
    return 0;
  }
  for (const StreamConfig& stream : config->streams) {
    Require(!stream.name.empty() && !stream.source.uri.empty(), "a stream has name and source");
    const absl::StatusOr<StreamConfig> again =
        ParseStreamEntry(stream.entry, "config", config->defaults);
    Require(again.ok(), "an entry can be read again");
    Require(SameEntry(again->entry, stream.entry), "an entry stays as it is");
  }
  return 0;
}
