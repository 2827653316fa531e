// Draws a timeline as an SVG picture: a row a device, a box an operation.
//
//   stage 1   |F 0| F 1 | F 2 | B 0    |F 3| B 1 ...
//   stage 2       |F 0| B 0    |F 1| B 1 ...
#pragma once

#include <string>
#include <vector>

#include "pipeline/timeline/timeline_event.h"

namespace millrace::pipeline {

/// What to draw.
struct TimelinePicture {
  std::string title;
  /// A line under the title.
  std::string subtitle;
  /// Of the time axis: "ms". Empty: none.
  std::string unit;
  /// What stands before each device's row.
  std::vector<std::string> row_names;
  std::vector<TimelineEvent> events;
  /// Empty: no rows for them.
  std::vector<CopyEvent> copies;
  /// What begins at `end` or later is left out.
  double end = 0;
};

/// A complete SVG document with a background of its own, in colours that colour-blind readers can
/// tell apart, shaded by the sample's (or group of samples') parity. Boxes hold their sample's
/// number where it fits. The same picture gives the same text. REQUIRES: a row name for each
/// device, end > 0.
[[nodiscard]] std::string TimelineSvg(const TimelinePicture& picture);

/// "stage 1", "stages 1, 3", "stage 2, backward": the stages that a device works for.
[[nodiscard]] std::vector<std::string> RowNames(const Plan& plan);

}  // namespace millrace::pipeline
