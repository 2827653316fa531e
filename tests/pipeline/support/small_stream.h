// A small network under a schedule, run by the engine for as long as a test gives it samples.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "pipeline/engine/engine.h"
#include "pipeline/schedules/schedules.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {

/// Learns to make its output small, with one of LibTorch's threads a stage.
class SmallStream {
 public:
  SmallStream(LayerChain chain, const Cuts& cuts, const std::string& schedule,
              const OptimizerOptions& optimizer)
      : chain_(std::move(chain)),
        plan_(*MakePlan(schedule,
                        {.shape = ShapeOf(chain_, cuts),
                         .costs = {cuts.size() + 1,
                                   {.forward = 1e-5, .backward = 2e-5, .weight_gradient = 1e-5}}})),
        network_({.chain = chain_,
                  .cuts = cuts,
                  .plan = plan_,
                  .loss = SmallOutputs(),
                  .local_loss = SmallOutputs(),
                  .optimizer = optimizer}) {
    at::set_num_threads(1);
    engine_ = *Engine::Start({.plan = plan_,
                              .run = [this](const Step& step) { return network_.Run(step); },
                              .on_worker_start = [](int /*device*/) { at::set_num_threads(1); }});
  }

  void Admit(const at::Tensor& input) {
    EXPECT_TRUE(engine_->AwaitRoom().ok());
    EXPECT_TRUE(engine_->Admit([&](std::int64_t n) { network_.Admit(n, input); }).ok());
  }
  void Drain() { EXPECT_TRUE(engine_->Drain().ok()); }

 private:
  static std::unique_ptr<Loss> SmallOutputs() {
    return std::make_unique<FunctionLoss>(
        [](const StageOutput& output) { return output.output.square().mean(); });
  }

  const LayerChain chain_;
  const Plan plan_;
  StagedNetwork network_;
  std::unique_ptr<Engine> engine_;  // Last: its workers use what is above.
};

}  // namespace millrace::pipeline
