// Finds the weights that a network of optical flow starts from by default.
//
// The path is relative to the program, so that an installed tree can be moved as a whole.
//
//   PREFIX/bin/millrace                    PREFIX/share/millrace/weights/NETWORK-start.safetensors
//   CHECKOUT/build/release/service/...     CHECKOUT/samples/weights/NETWORK-start.safetensors
#pragma once

#include <string>
#include <string_view>

namespace millrace::service {

/// The value of `model.weights` that means random weights.
inline constexpr std::string_view kNoWeights = "none";

/// The cost of a network's start from random weights, for messages.
[[nodiscard]] std::string CostOfColdStart(std::string_view network);

/// The start weights of `network` for the running program. Empty if that network has no file.
[[nodiscard]] std::string WarmStartWeights(std::string_view network);

/// The same for a program at the absolute path `program`.
[[nodiscard]] std::string WarmStartWeightsOf(const std::string& program, std::string_view network);

}  // namespace millrace::service
