#include "service/stream/weights_origin.h"

#include "absl/strings/str_cat.h"
#include "pipeline/learner/flow_network_names.h"

namespace millrace::service {

std::string DescribeOrigin(const StreamConfig& config) {
  const bool labels = IsOfLabels(config.task);
  if (!config.learner.weights.empty()) return config.learner.weights;
  const std::string& network = labels ? config.labels.model : config.flow.network;
  const bool own = labels ? !network.empty() : pipeline::IsNetworkFile(network);
  return own ? absl::StrCat("the weights in ", network) : "random weights";
}

}  // namespace millrace::service
