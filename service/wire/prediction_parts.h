// The parts of a prediction that a request selects.
#pragma once

namespace millrace::service {

/// Selects the arrays that a message carries. They are most of its size.
struct PredictionParts {
  bool flow = true;
  bool next_picture = true;
  bool outputs = true;
  bool preview = false;
  bool uncertainty = false;

  /// A distinct number for each selection.
  [[nodiscard]] int AsBits() const {
    return (flow ? 1 : 0) | (next_picture ? 2 : 0) | (outputs ? 4 : 0) | (preview ? 8 : 0) |
           (uncertainty ? 16 : 0);
  }
};

/// For SubscribeRequest, GetLatestRequest and other requests with `parts`.
template <typename Request>
PredictionParts PartsOf(const Request& request) {
  if (!request.has_parts()) return {};
  return {.flow = request.parts().flow(),
          .next_picture = request.parts().next_picture(),
          .outputs = request.parts().outputs(),
          .preview = request.parts().preview(),
          .uncertainty = request.parts().uncertainty()};
}

}  // namespace millrace::service
