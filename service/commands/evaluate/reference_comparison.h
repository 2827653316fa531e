// Compares a stream's predictions with a method that does not learn.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "service/frames/prediction.h"

namespace millrace::service {

/// Returns a function that runs the method `name` (pipeline::ReferenceFlowNames()) on each
/// prediction's own pictures, of the given size, and sets its comparison and reference_flow. For
/// one thread. Fails as MakeReferenceFlow() does.
[[nodiscard]] absl::StatusOr<std::function<void(Prediction&)>> CompareWith(const std::string& name,
                                                                           int width, int height);

}  // namespace millrace::service
