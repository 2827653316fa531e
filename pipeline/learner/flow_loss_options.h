// The losses by which a network can learn optical flow, by name. Free of LibTorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// A loss and its weights. flow_loss.h defines each.
struct FlowLossOptions {
  enum class Kind {
    kRelative,        ///< Photometric, relative to no motion, and edge-aware smoothness.
    kCensus,          ///< kRelative with the census transform: ignores brightness.
    kSsim,            ///< kRelative with structural similarity.
    kPhotoAndSmooth,  ///< Marullo et al., absolute: photometric and quadratic smoothness.
    kHs,              ///< Marullo et al.: brightness constancy, linear, and quadratic smoothness.
  };
  Kind kind = Kind::kRelative;
  /// Weight of the smoothness, relative to the data.
  double smoothness = 0.1;
  /// Also computes backward flow, and ignores the data where the two flows disagree. A pixel hidden
  /// in one picture has no match there. The network does twice the work.
  bool occlusion = false;
};

/// "relative", "census", "ssim", "photo_and_smooth", "hs".
[[nodiscard]] const std::vector<std::string>& FlowLossNames();
[[nodiscard]] absl::StatusOr<FlowLossOptions::Kind> FlowLossKind(std::string_view name);

/// Whether a loss can ignore hidden pixels. The published losses cannot.
[[nodiscard]] constexpr bool KnowsHiddenPixels(FlowLossOptions::Kind kind) {
  return kind != FlowLossOptions::Kind::kPhotoAndSmooth && kind != FlowLossOptions::Kind::kHs;
}

/// The names of FlowLoss::terms for these options, in order.
[[nodiscard]] std::vector<std::string_view> FlowLossTerms(const FlowLossOptions& options);

}  // namespace millrace::pipeline
