#include "service/commands/evaluate/reference_comparison.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/status.h"
#include "pipeline/classical/reference_flow.h"
#include "pipeline/evaluation/pictures.h"

namespace millrace::service {

absl::StatusOr<std::function<void(Prediction&)>> CompareWith(const std::string& name, int width,
                                                             int height) {
  MILLRACE_ASSIGN_OR_RETURN(std::unique_ptr<pipeline::ReferenceFlow> made,
                            pipeline::MakeReferenceFlow(name, width, height));
  // Shared, because std::function requires copyable captures.
  return [method = std::shared_ptr<pipeline::ReferenceFlow>(std::move(made)), width,
          height](Prediction& prediction) {
    const auto& previous = prediction.previous->rgb;
    const auto& current = prediction.picture->rgb;
    const pipeline::PairOfPictures pictures(previous, current, width, height);
    prediction.reference_flow =
        std::make_shared<const std::vector<float>>(method->Flow(previous, current));
    prediction.comparison = {.loss = pictures.Loss(*prediction.model.flow),
                             .loss_no_motion = pictures.LossOfNoMotion(),
                             .loss_reference = pictures.Loss(*prediction.reference_flow)};
  };
}

}  // namespace millrace::service
