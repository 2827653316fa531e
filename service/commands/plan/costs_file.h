// costs.json: what each layer of a network costs, measured or made up, for `millrace plan`.
//
//   {"layers": [{"name": "conv1", "forward_ms": 1.5, "backward_ms": 3, "update_ms": 0.2,
//                "output_bytes": 4000000, "weight_bytes": 1000, "activation_bytes": 8000000}, ...],
//    "copy_gb_per_s": 12, "memory_bytes": 8000000000, "spread": 0.1}
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/planner/layer_costs.h"

namespace millrace::service {

/// The costs that `text` holds. Only `layers` and each layer's `forward_ms` must be there; other
/// numbers are 0 if left out, which for copy_gb_per_s means that copies are free and for
/// memory_bytes that there is no limit; a spread that is left out was not measured. Fails with
/// INVALID_ARGUMENT naming `path`, the layer, the key and what is allowed.
[[nodiscard]] absl::StatusOr<pipeline::NetworkCosts> ParseCosts(const std::string& path,
                                                                std::string_view text);

/// Those of the file at `path`. Fails as ReadFile() and ParseCosts() do.
[[nodiscard]] absl::StatusOr<pipeline::NetworkCosts> ReadCosts(const std::string& path);

/// The text that ParseCosts() reads.
[[nodiscard]] std::string CostsText(const pipeline::NetworkCosts& costs);

}  // namespace millrace::service
