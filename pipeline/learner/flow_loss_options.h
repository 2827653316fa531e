// By what a network learns optical flow: the losses there are, by name. Free of LibTorch.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// An objective and its weights. What each is exactly: flow_loss.h.
struct FlowLossOptions {
  enum class Kind {
    kRelative,        ///< Photometric, relative to no motion, and edge-aware smoothness.
    kCensus,          ///< The same with the census transform: bright and dark do not count.
    kSsim,            ///< The same with structural similarity.
    kPhotoAndSmooth,  ///< Of Marullo et al., absolute: photometric and quadratic smoothness.
    kHs,              ///< Of the same: brightness constancy, linear, and quadratic smoothness.
  };
  Kind kind = Kind::kRelative;
  /// Weight of the smoothness against the data.
  double smoothness = 0.1;
  /// Flow is also made backward, and where the two do not agree nothing is learned from the data:
  /// what is hidden in one picture has no match there. The network works twice for it.
  bool occlusion = false;
};

/// "relative", "census", "ssim", "photo_and_smooth", "hs".
[[nodiscard]] const std::vector<std::string>& FlowLossNames();
[[nodiscard]] absl::StatusOr<FlowLossOptions::Kind> FlowLossKind(std::string_view name);

/// Whether an objective leaves hidden pixels out: those that were published do not.
[[nodiscard]] constexpr bool KnowsHiddenPixels(FlowLossOptions::Kind kind) {
  return kind != FlowLossOptions::Kind::kPhotoAndSmooth && kind != FlowLossOptions::Kind::kHs;
}

/// What FlowLoss::terms holds for these options, in order.
[[nodiscard]] std::vector<std::string_view> FlowLossTerms(const FlowLossOptions& options);

}  // namespace millrace::pipeline
