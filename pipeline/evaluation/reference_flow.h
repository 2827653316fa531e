// What a user would run instead: optical flow that does not learn, on the same pictures.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/evaluation/clip.h"

namespace millrace::pipeline {

/// A method. For one thread.
class ReferenceFlow {
 public:
  virtual ~ReferenceFlow() = default;

  /// (dx, dy) for every pixel, rows first, from the previous picture to the current one.
  [[nodiscard]] virtual std::vector<float> Flow(const ClipPair& pair) = 0;
};

/// none: no motion at all.
/// dis: OpenCV's DIS (Kroeger et al., "Fast optical flow using dense inverse search", ECCV 2016),
///      preset medium; dis_fast, dis_ultrafast: its other presets.
/// farneback: OpenCV's Farnebäck (SCIA 2003), with the settings of OpenCV's own example.
[[nodiscard]] const std::vector<std::string>& ReferenceFlowNames();

/// The method of that name, for pictures of that size, at least 16 on each side. INVALID_ARGUMENT
/// naming the methods if there is none.
[[nodiscard]] absl::StatusOr<std::unique_ptr<ReferenceFlow>> MakeReferenceFlow(
    std::string_view name, int width, int height);

}  // namespace millrace::pipeline
