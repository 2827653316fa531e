// A look at a source before anything is made for it: which pictures it has, and how many a second.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "ingest/frame/grid.h"
#include "ingest/source/source.h"

namespace millrace::ingest {

struct SourceFacts {
  /// Of its pictures, in square pixels.
  Extent picture = {};
  /// As they are sent, where pixels are not square: 704x576, to be shown as 768x576.
  Extent sent = {};
  /// As the source announces it, else as its first pictures come; 0: neither is known.
  double frames_per_second = 0;
  /// In words: "H.264 (High Profile)". Empty where nothing is decoded.
  std::string codec = {};
};

/// Whether there is something to look at: not with push:, whose pictures clients send.
[[nodiscard]] bool CanLook(const SourceOptions& options);

/// Connects, sees a picture or a few, and closes again, within `options.camera.connect_timeout`.
/// Does not try twice. Fails as OpenSource() does on what is wrong with the options, with the cause
/// where the source cannot be reached (NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE,
/// FAILED_PRECONDITION), with DEADLINE_EXCEEDED where it shows nothing, and with CANCELLED once
/// `options.stop` says so. Each names the URI, without credentials. REQUIRES: CanLook(options).
[[nodiscard]] absl::StatusOr<SourceFacts> Look(const SourceOptions& options);

}  // namespace millrace::ingest
