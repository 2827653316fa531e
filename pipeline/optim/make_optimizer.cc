// Makes an optimizer of the configured kind.
#include <utility>

#include "base/check.h"
#include "pipeline/optim/adam.h"
#include "pipeline/optim/optimizer.h"
#include "pipeline/optim/rmsprop.h"
#include "pipeline/optim/sgd.h"

namespace millrace::pipeline {

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options,
                                         std::vector<at::Tensor> parameters) {
  switch (options.kind) {
    case OptimizerOptions::Kind::kRmsProp:
      return std::make_unique<RmsProp>(std::move(parameters), options);
    case OptimizerOptions::Kind::kSgd:
      return std::make_unique<Sgd>(std::move(parameters), options);
    case OptimizerOptions::Kind::kAdam:
    case OptimizerOptions::Kind::kAdamW:
      return std::make_unique<Adam>(std::move(parameters), options);
  }
  MILLRACE_CHECK(false);
  return nullptr;
}

}  // namespace millrace::pipeline
