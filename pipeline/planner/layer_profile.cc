#include "pipeline/planner/layer_profile.h"

namespace millrace::pipeline {

double StageBytes(const std::vector<LayerProfile>& layers, int first, int end,
                  const StageHolds& holds) {
  double bytes = first > 0 ? holds.inputs * layers[first - 1].output_bytes : 0;
  for (int i = first; i < end; ++i) {
    bytes +=
        holds.versions * layers[i].weight_bytes + holds.activations * layers[i].activation_bytes;
  }
  return bytes;
}

}  // namespace millrace::pipeline
