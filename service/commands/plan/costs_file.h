// costs.json: the costs of each layer of a network, measured or assumed, for `millrace plan`.
//
//   {"layers": [{"name": "conv1", "forward_ms": 1.5, "backward_ms": 3, "update_ms": 0.2,
//                "output_bytes": 4000000, "weight_bytes": 1000, "activation_bytes": 8000000}, ...],
//    "copy_gb_per_s": 12, "memory_bytes": 8000000000, "spread": 0.1, "input_bytes": 150000,
//    "skips": [{"from": 0, "to": 3, "bytes": 1000000}]}
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "pipeline/planner/layer_profile.h"

namespace millrace::service {

/// Parses costs. Only `layers` and each layer's `forward_ms` are required; other numbers default to
/// 0. A copy_gb_per_s of 0 means that copies are free, a memory_bytes of 0 means no limit. A
/// missing spread means that it was not measured. Skips lead from one layer to a later one, counted
/// from 0, and their bytes are a part of output_bytes of the layers between. Fails with
/// INVALID_ARGUMENT, naming `path`, the layer, the key and the valid values.
[[nodiscard]] absl::StatusOr<pipeline::NetworkProfile> ParseCosts(const std::string& path,
                                                                  std::string_view text);

/// Reads and parses the file at `path`. Fails as ReadFile() and ParseCosts() do.
[[nodiscard]] absl::StatusOr<pipeline::NetworkProfile> ReadCosts(const std::string& path);

/// The text that ParseCosts() reads.
[[nodiscard]] std::string CostsText(const pipeline::NetworkProfile& costs);

}  // namespace millrace::service
