// Finds the weights that the network `flow` starts from by default.
//
// The path is relative to the program, so that an installed tree can be moved as a whole.
//
//   PREFIX/bin/millrace                    PREFIX/share/millrace/weights/flow-start.safetensors
//   CHECKOUT/build/release/service/...     CHECKOUT/samples/weights/flow-start.safetensors
#pragma once

#include <string>
#include <string_view>

namespace millrace::service {

/// The value of `model.weights` that means random weights.
inline constexpr std::string_view kNoWeights = "none";

/// The cost of a start from random weights, for messages.
inline constexpr std::string_view kCostOfColdStart =
    "it sees no motion for about its first thousand frames";

/// The start weights of the running program. Empty if not found.
[[nodiscard]] const std::string& WarmStartWeights();

/// The start weights of a program at the absolute path `program`. Empty if not found.
[[nodiscard]] std::string WarmStartWeightsOf(const std::string& program);

}  // namespace millrace::service
