#include "service/stream/weights_origin.h"

#include "absl/strings/str_cat.h"
#include "pipeline/learner/flow_network_names.h"

namespace millrace::service {

std::string DescribeOrigin(const StreamConfig& config) {
  const bool labels = IsOfLabels(config.task);
  const std::string& weights = labels ? config.labels.learner.weights : config.learner.weights;
  if (!weights.empty()) return weights;
  const std::string& network = labels ? config.labels.learner.model : config.learner.network;
  const bool own = labels ? !network.empty() : pipeline::IsNetworkFile(network);
  return own ? absl::StrCat("the weights in ", network) : "random weights";
}

}  // namespace millrace::service
