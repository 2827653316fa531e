// The weights that the network `flow` starts from unless the configuration says otherwise.
//
// They lie beside the program, wherever it lies: an installed tree may be moved as a whole.
//
//   PREFIX/bin/millrace                    PREFIX/share/millrace/weights/flow-start.safetensors
//   CHECKOUT/build/release/service/...     CHECKOUT/samples/weights/flow-start.safetensors
#pragma once

#include <string>
#include <string_view>

namespace millrace::service {

/// What `model.weights` is set to for random weights.
inline constexpr std::string_view kNoWeights = "none";

/// What a start from random weights costs, for people.
inline constexpr std::string_view kCostOfColdStart =
    "it sees no motion for about its first thousand frames";

/// Of the program that runs. Empty where there are none.
[[nodiscard]] const std::string& WarmStartWeights();

/// Of a program at `program`, an absolute path. Empty where there are none.
[[nodiscard]] std::string WarmStartWeightsOf(const std::string& program);

}  // namespace millrace::service
