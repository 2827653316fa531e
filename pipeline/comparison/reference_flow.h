// What a user would run instead: optical flow that does not learn, on the same pictures.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/reference_flow_names.h"

namespace millrace::pipeline {

/// A method. For one thread.
class ReferenceFlow {
 public:
  virtual ~ReferenceFlow() = default;

  /// (dx, dy) for every pixel, rows first, from the previous picture to the current one: red,
  /// green, blue bytes of the size it was made for.
  [[nodiscard]] virtual std::vector<float> Flow(std::span<const std::uint8_t> previous,
                                                std::span<const std::uint8_t> current) = 0;
};

/// The method of that name (ReferenceFlowNames()), for pictures of that size, at least 16 on each
/// side. INVALID_ARGUMENT naming the methods if there is none.
[[nodiscard]] absl::StatusOr<std::unique_ptr<ReferenceFlow>> MakeReferenceFlow(
    std::string_view name, int width, int height);

}  // namespace millrace::pipeline
