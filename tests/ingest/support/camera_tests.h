// Code that tests of cameras share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "ingest/inputs/open_source.h"

namespace millrace::ingest {

/// Limits that only a camera which is gone meets, however loaded the machine.
inline IngestSettings Patient() {
  return {.limits = {.first_frame = std::chrono::seconds(30),
                     .between_frames = std::chrono::seconds(20)},
          .backoff = {.first = std::chrono::milliseconds(10),
                      .longest = std::chrono::milliseconds(50)}};
}

inline std::unique_ptr<Source> Open(const SourceOptions& options, const IngestSettings& settings) {
  absl::StatusOr<std::unique_ptr<Source>> source = OpenSource(options, settings);
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? *std::move(source) : nullptr;
}

inline std::unique_ptr<Source> Open(const std::string& uri, const IngestSettings& settings) {
  return Open(SourceOptions{.uri = uri}, settings);
}

inline std::string Cause(const Source& source) {
  return std::string(source.status().cause.message());
}

inline std::int64_t TimesIn(const Source& source, SourceState state) {
  return source.status().entered[static_cast<std::size_t>(state)];
}

}  // namespace millrace::ingest
