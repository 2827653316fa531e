// How well an uncertainty finds the errors of a prediction.
#pragma once

#include <optional>
#include <span>

namespace millrace::pipeline {

/// 0: `uncertainty` orders pixels as their `errors` do; 1: as chance does.
///
/// A sparsification curve is the mean error of the remaining pixels, while the most uncertain ones
/// are removed. AUSE is the area between two such curves, by uncertainty and by error. The result
/// is AUSE over the area for a random order. The reference is Ilg et al., "Uncertainty estimates
/// and multi-hypotheses networks for optical flow", ECCV 2018. Pixels of equal uncertainty are
/// removed together. nullopt if there are no pixels, or all errors are equal: they have no order.
/// REQUIRES: both have the same size; finite errors, no NaN.
[[nodiscard]] std::optional<double> RelativeAuse(std::span<const double> errors,
                                                 std::span<const float> uncertainty);

}  // namespace millrace::pipeline
