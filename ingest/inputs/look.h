// Inspects a source before a stream is created for it: the size, rate and codec of its pictures.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ingest/frame/grid.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

struct SourceFacts {
  /// The pictures' size in square pixels.
  Extent picture = {};
  /// The size as sent if pixels are not square: 704x576, shown as 768x576.
  Extent sent = {};
  /// The announced rate, or else the rate of the first pictures; 0: unknown.
  double frames_per_second = 0;
  /// In words: "H.264 (High Profile)". Empty if no video is decoded.
  std::string codec = {};
};

/// Whether Look() can inspect the source. False for push:, whose pictures come from clients.
[[nodiscard]] bool CanLook(const SourceOptions& options);

/// Connects, waits for a few pictures and closes, within `options.camera.connect_timeout`. Does not
/// retry. Fails as OpenSource() for wrong options. If the source cannot be reached, fails with the
/// cause (NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE, FAILED_PRECONDITION). DEADLINE_EXCEEDED
/// without a picture; CANCELLED after a request by `options.stop`. Each message names the URI,
/// without credentials. REQUIRES: CanLook(options).
[[nodiscard]] absl::StatusOr<SourceFacts> Look(const SourceOptions& options);

}  // namespace millrace::ingest
