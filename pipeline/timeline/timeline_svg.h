// Draws a timeline as an SVG picture: a row for each device, a box for each operation.
//
//   stage 1   |F 0| F 1 | F 2 | B 0    |F 3| B 1 ...
//   stage 2       |F 0| B 0    |F 1| B 1 ...
#pragma once

#include <string>
#include <vector>

#include "pipeline/timeline/timeline_event.h"

namespace millrace::pipeline {

/// The content of a picture.
struct TimelinePicture {
  std::string title;
  /// A line under the title.
  std::string subtitle;
  /// The unit of the time axis: "ms". Empty: no unit.
  std::string unit;
  /// The label of each device's row.
  std::vector<std::string> row_names;
  std::vector<TimelineEvent> events;
  /// Empty: no rows for copies.
  std::vector<CopyEvent> copies;
  /// Events that begin at `end` or later are not drawn.
  double end = 0;
};

/// A complete SVG document with its own background, in colours for colour-blind readers. The shade
/// shows the parity of the sample (or group of samples). Boxes hold their sample's number if it
/// fits. The same picture always gives the same text. REQUIRES: a row name for each device, end >
/// 0.
[[nodiscard]] std::string TimelineSvg(const TimelinePicture& picture);

/// The stages of each device: "stage 1", "stages 1, 3", "stage 2, backward".
[[nodiscard]] std::vector<std::string> RowNames(const Plan& plan);

}  // namespace millrace::pipeline
