// The keys of the configuration file, as tables.
#pragma once

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

/// Reads the file's node into `config`, which holds what the file may leave out, and notes
/// everything wrong in the node's errors.
void ReadConfig(const ConfigValue& root, Config& config);

/// Reads an entry of `streams` into `stream`, which holds what the entry may leave out, and makes
/// it complete.
void ReadStream(const ConfigValue& entry, StreamConfig& stream);

inline constexpr std::size_t kMostStreams = 64;

}  // namespace millrace::service
