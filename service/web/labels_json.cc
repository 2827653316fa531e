#include "service/web/labels_json.h"

#include <string>

namespace millrace::service {

using nlohmann::json;

json LabelsJson(const std::optional<LabelCounts>& counts) {
  if (!counts) return nullptr;
  json result = {{"scored", counts->scored}};
  for (std::size_t i = 0; i < kLabelOutcomes; ++i) {
    result["outcomes"][std::string(Name(static_cast<LabelOutcome>(i)))] = counts->labels[i];
  }
  const bool classes = counts->task == pipeline::LabelTask::kClassification;
  const std::string score = classes ? "accuracy" : "squared_error";
  const auto known = [&](double value) { return counts->scored > 0 ? json(value) : json(nullptr); };
  result[score] = known(counts->score());
  result[score + "_last_200"] = known(counts->recent_score);
  return result;
}

}  // namespace millrace::service
