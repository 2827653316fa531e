// The keys of the configuration file, as tables.
#pragma once

#include "service/config/config.h"
#include "service/config/config_value.h"

namespace millrace::service {

/// Reads the file's node into `config`, which already has the defaults, and notes every error in
/// the node's errors.
void ReadConfig(const ConfigValue& root, Config& config);

/// Reads an entry of `streams` into `stream`, which already has the defaults, and completes it.
void ReadStream(const ConfigValue& entry, StreamConfig& stream);

inline constexpr std::size_t kMostStreams = 64;

}  // namespace millrace::service
