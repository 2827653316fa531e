// Makes an optimizer of the configured kind.
#include <utility>

#include "base/check.h"
#include "pipeline/optim/optimizer.h"

namespace millrace::pipeline {

#define MILLRACE_OPTIMIZER(kind, name, state, tensors)                      \
  std::unique_ptr<Optimizer> Make##kind(std::vector<at::Tensor> parameters, \
                                        const OptimizerOptions& options);
#include "pipeline/learner/optimizer_list.h"
#undef MILLRACE_OPTIMIZER

std::unique_ptr<Optimizer> MakeOptimizer(const OptimizerOptions& options,
                                         std::vector<at::Tensor> parameters) {
  switch (options.kind) {
#define MILLRACE_OPTIMIZER(kind, name, state, tensors) \
  case OptimizerOptions::Kind::k##kind:                \
    return Make##kind(std::move(parameters), options);
#include "pipeline/learner/optimizer_list.h"
#undef MILLRACE_OPTIMIZER
  }
  MILLRACE_CHECK(false);
  return nullptr;
}

}  // namespace millrace::pipeline
