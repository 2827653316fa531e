// One step of the flow network at 192x144 on one core: forward, objective, backward and RMSprop's
// update for one pair. In turns with it, the same step with LibTorch's own operators.
//
//   step_benchmark JSON_FILE
#include <ctime>

#include <exception>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>

#include "pipeline/flow/flow_loss.h"
#include "pipeline/models/coarse_to_fine_network.h"
#include "pipeline/nn/stage.h"
#include "pipeline/optim/optimizer.h"
#include "tests/benchmarks/report.h"
#include "tests/pipeline/support/plain_flow.h"

namespace millrace::benchmarks {
namespace {

constexpr int kTurns = 15;
constexpr int kStepsOfATurn = 3;
constexpr double kRate = 1e-5;
constexpr double kSmoothness = 0.003;

// The thread's own time: what else the machine does is then seen in the caches alone.
double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

template <typename Step>
double MillisecondsOfAStep(Step& step) {
  const double begin = CpuMilliseconds();
  for (int i = 0; i < kStepsOfATurn; ++i) step();
  return (CpuMilliseconds() - begin) / kStepsOfATurn;
}

// Waves that go a pixel and a half to the right.
at::Tensor Pair() {
  const auto picture = [](double shift) {
    const at::Tensor x = at::linspace(0, 191, 192) - shift;
    const at::Tensor y = at::linspace(0, 143, 144).unsqueeze(1);
    return ((x * 0.17).cos() * (y * 0.21).sin() + (x * 0.05 + y * 0.31).sin()) * 0.2 + 0.5;
  };
  return at::stack({picture(0), picture(1.5)}).unsqueeze(1);
}

class OurStep {
 public:
  explicit OurStep(at::Tensor pictures) : pictures_(std::move(pictures)) {}

  void operator()() {
    const at::Tensor flow = stage_.Forward({pictures_})[0];
    pipeline::ComputeFlowLoss(pictures_, flow, {.smoothness = kSmoothness}).objective.backward();
    optimizer_->Step();
  }

 private:
  const at::Tensor pictures_;
  const pipeline::LayerChain network_ = pipeline::MakeCoarseToFineNetwork();
  const pipeline::Stage stage_ = pipeline::WholeChain(network_);
  const std::unique_ptr<pipeline::Optimizer> optimizer_ =
      pipeline::MakeOptimizer({.learning_rate = kRate, .clip_update = 0}, stage_.parameters());
};

class PlainStep {
 public:
  explicit PlainStep(at::Tensor pictures) : pictures_(std::move(pictures)) {
    for (const at::Tensor& parameter : parameters_) squares_.push_back(at::zeros_like(parameter));
  }

  void operator()() {
    const at::Tensor flow =
        pipeline::plain::Flow(parameters_, pictures_, pipeline::PicturePairs::kOne);
    pipeline::plain::RelativeObjective(pictures_, flow, /*visible=*/{}, kSmoothness).backward();
    pipeline::plain::Update(parameters_, squares_, kRate);
  }

 private:
  const at::Tensor pictures_;
  const pipeline::LayerChain network_ = pipeline::MakeCoarseToFineNetwork();
  const std::vector<at::Tensor> parameters_ = pipeline::WholeChain(network_).parameters();
  std::vector<at::Tensor> squares_;
};

int Run(const std::string& json_file) {
  std::cout << "At the start: " << Conditions() << "\n\n";
  at::set_num_threads(1);
  OurStep ours(Pair());
  PlainStep plain(Pair());
  std::vector<double> our_times;
  std::vector<double> plain_times;
  for (int turn = -1; turn < kTurns; ++turn) {
    const double our_time = MillisecondsOfAStep(ours);
    const double plain_time = MillisecondsOfAStep(plain);
    if (turn < 0) continue;  // Warms up.
    our_times.push_back(our_time);
    plain_times.push_back(plain_time);
  }
  const Spread ratio = RatioOf(our_times, plain_times);
  std::cout << "One step of the flow network at 192x144 on one core, median (least to greatest) of "
            << kTurns << " turns\n\n"
            << MarkdownTable(
                   {{"our operators, ms of CPU", "LibTorch's own, ms of CPU", "ratio"},
                    {Text(SpreadOf(our_times), 1), Text(SpreadOf(plain_times), 1), Text(ratio, 2)}})
            << std::endl;
  return WriteResult(json_file, {{"ours_ms", Json(SpreadOf(our_times))},
                                 {"libtorch_ms", Json(SpreadOf(plain_times))},
                                 {"ratio", Json(ratio)}});
}

}  // namespace
}  // namespace millrace::benchmarks

int main(int argc, char** argv) try {
  if (argc == 2) return millrace::benchmarks::Run(argv[1]);
  std::cerr << "usage: step_benchmark JSON_FILE\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
