// Reference methods: optical flow without learning, on the same pictures.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/learner/reference_flow_names.h"

namespace millrace::pipeline {

/// A reference method. For one thread.
class ReferenceFlow {
 public:
  virtual ~ReferenceFlow() = default;

  /// (dx, dy) for every pixel, rows first, from the previous picture to the current one. The
  /// pictures are red, green, blue bytes of the method's size.
  [[nodiscard]] virtual std::vector<float> Flow(std::span<const std::uint8_t> previous,
                                                std::span<const std::uint8_t> current) = 0;
};

/// The method called `name` (ReferenceFlowNames()), for pictures of this size, at least 16 on each
/// side. Fails with INVALID_ARGUMENT naming the methods if `name` is unknown.
[[nodiscard]] absl::StatusOr<std::unique_ptr<ReferenceFlow>> MakeReferenceFlow(
    std::string_view name, int width, int height);

}  // namespace millrace::pipeline
