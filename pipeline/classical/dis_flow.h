// OpenCV's dense inverse search (Kroeger et al., "Fast optical flow using dense inverse search",
// ECCV 2016) with settings of ours.
#pragma once

#include <opencv2/video/tracking.hpp>

namespace millrace::pipeline {

/// The settings that differ from OpenCV's preset "medium".
struct DisSettings {
  /// The finest level of the pyramid: 0 is the picture itself. The preset stops at half its size.
  int finest_scale = 0;
  /// Pixels between two patches of 8x8.
  int patch_stride = 3;
  /// Steps of the search in each patch.
  int search_steps = 25;
  /// Steps of the variational refinement on each level.
  int refinement_steps = 5;
  /// The weight of the refinement's smoothness.
  float smoothness = 20;
};

/// The settings of PriorFlow (prior_flow.h).
inline constexpr DisSettings kPriorSettings = {.patch_stride = 4, .search_steps = 4};

[[nodiscard]] cv::Ptr<cv::DISOpticalFlow> MakeDisFlow(const DisSettings& settings);

}  // namespace millrace::pipeline
