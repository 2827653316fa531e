#include "pipeline/offline/bench_contender.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include "absl/strings/str_cat.h"
#include "base/exception_to_status.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/device/device_memory.h"
#include "pipeline/device/device_streams.h"
#include "pipeline/device/device_time.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/engine/engine.h"
#include "pipeline/nn/stage.h"
#include "pipeline/stages/graphed_stage.h"
#include "pipeline/stages/staged_network.h"

namespace millrace::pipeline {
namespace {

constexpr int kWarmUp = 3;
constexpr int kWatched = 50;

class SequentialContender final : public BenchContender {
 public:
  SequentialContender(LayerChain chain, int threads, const OptimizerOptions& optimizer,
                      at::Device device)
      : chain_(MovedTo(device, std::move(chain))),
        whole_(WholeChain(chain_)),
        threads_(threads),
        device_(device),
        optimizer_(MakeOptimizer(optimizer, whole_.parameters())) {}

  absl::StatusOr<BenchTurn> Take(const std::vector<at::Tensor>& samples, int count) override {
    at::set_num_threads(threads_);
    ResetPeakBytes(device_);
    TurnLog log;
    for (int i = 0; i < kWarmUp + count; ++i) {
      log.Admitted();
      const at::Tensor output = whole_.Forward({samples[i % samples.size()].to(device_)})[0];
      const at::Tensor loss = BenchLoss(output);
      AwaitStream(device_);
      log.Predicted();
      torch::autograd::backward({loss}, {});
      optimizer_->Step();
    }
    BenchTurn turn = log.Figures(kWarmUp, count, /*devices=*/0);
    turn.gpu_bytes = PeakBytes(device_);
    return turn;
  }

 private:
  static LayerChain MovedTo(at::Device device, LayerChain chain) {
    for (const auto& layer : chain.layers) MoveTo(device, *layer);
    AwaitStream(device);
    return chain;
  }

  const LayerChain chain_;
  const Stage whole_;
  const int threads_;
  const at::Device device_;
  const std::unique_ptr<Optimizer> optimizer_;
};

// Runs each copy on its own thread.
class CopiesContender final : public BenchContender {
 public:
  explicit CopiesContender(std::vector<std::unique_ptr<BenchContender>> copies)
      : copies_(std::move(copies)) {}

  absl::StatusOr<BenchTurn> Take(const std::vector<at::Tensor>& samples, int count) override {
    std::vector<absl::StatusOr<BenchTurn>> turns(copies_.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < copies_.size(); ++i) {
        threads.emplace_back([&, i] { turns[i] = TakeCaught(*copies_[i], samples, count); });
      }
    }
    const auto copies = static_cast<double>(copies_.size());
    BenchTurn all;
    for (const absl::StatusOr<BenchTurn>& turn : turns) {
      MILLRACE_RETURN_IF_ERROR(turn.status());
      all.samples_per_second += turn->samples_per_second;
      all.delay_ms += turn->delay_ms / copies;
      // Each copy measured the CPU time of the whole process.
      all.cpu_ms_per_sample += turn->cpu_ms_per_sample / (copies * copies);
    }
    return all;
  }

 private:
  // The top function of a thread.
  static absl::StatusOr<BenchTurn> TakeCaught(BenchContender& copy,
                                              const std::vector<at::Tensor>& samples, int count) {
    return ExceptionToStatus([&] { return copy.Take(samples, count); }, InternalCause);
  }

  const std::vector<std::unique_ptr<BenchContender>> copies_;
};

class StagedContender final : public BenchContender {
 public:
  StagedContender(LayerChain chain, StagedContenderOptions options)
      : chain_(std::move(chain)),
        plan_(std::move(options.plan)),
        threads_(options.threads_per_stage),
        device_(options.device),
        captures_(options.captures),
        network_({.chain = chain_,
                  .cuts = std::move(options.cuts),
                  .devices = {options.device},
                  .plan = plan_,
                  .loss = std::make_unique<FunctionLoss>(
                      LossOf, [this](const StageOutput&, const LossValue&) { OnPredicted(); }),
                  .local_loss = std::make_unique<FunctionLoss>(LossOf),
                  .optimizer = options.optimizer,
                  .captures = options.captures}) {}

  // The engine exists for one turn. Drained, it frees the machine for the next contender.
  absl::StatusOr<BenchTurn> Take(const std::vector<at::Tensor>& samples, int count) override {
    log_ = std::make_unique<TurnLog>();
    ResetPeakBytes(device_);
    MILLRACE_ASSIGN_OR_RETURN(
        const auto engine,
        Engine::Start({.plan = plan_,
                       .run = [this](const Step& step) { return RunTimed(step); },
                       .on_worker_start = [this](int) { at::set_num_threads(threads_); },
                       .make_devices = MakeDeviceStreams({device_})}));
    const std::int64_t in_flight = std::int64_t{2} * plan_.stage_count();
    const std::int64_t first = WholePatterns(kWarmUp + in_flight + UntilCaptured());
    const std::int64_t counted = WholePatterns(count);
    // The GPU's work is measured in a separate part, while no other value is measured.
    const std::int64_t watched = device_.is_cpu() || !captures_ ? 0 : WholePatterns(kWatched);
    watched_from_ = first + counted;
    if (watched > 0) gpu_times_ = std::make_unique<GpuTimes>(device_);
    // Later samples keep the stages busy until the last counted prediction.
    const std::int64_t all = first + counted + watched + WholePatterns(in_flight);
    for (std::int64_t i = 0; i < all; ++i) {
      const auto admit = [&](std::int64_t sample) {
        log_->Admitted();
        network_.Admit(sample, samples[i % samples.size()]);
      };
      MILLRACE_RETURN_IF_ERROR(engine->Admit(admit).status());
    }
    MILLRACE_RETURN_IF_ERROR(engine->Drain());
    BenchTurn turn = log_->Figures(first, counted,
                                   device_.is_cpu() ? static_cast<int>(plan_.devices.size()) : 0);
    if (watched > 0) turn.idle = IdleOfGpu(watched);
    turn.gpu_bytes = PeakBytes(device_);
    if (captures_) turn.why_not_captured = WhyNotCaptured();
    // Frees the memory of captured graphs for the next contender.
    network_.Switch(plan_, 0);
    return turn;
  }

 private:
  // Samples until every slot has captured its forward and backward.
  [[nodiscard]] std::int64_t UntilCaptured() const {
    if (device_.is_cpu()) return 0;
    return 2 *
           (std::int64_t{GraphedStage::kWarmUps} * plan_.samples_per_pattern + SlotCount(plan_));
  }

  [[nodiscard]] std::string WhyNotCaptured() const {
    const std::vector<std::string> why = network_.why_not_captured();
    const auto first = std::ranges::find_if(why, [](const std::string& w) { return !w.empty(); });
    return first == why.end() ? "" : absl::StrCat("stage ", first - why.begin() + 1, ": ", *first);
  }

  [[nodiscard]] std::int64_t WholePatterns(std::int64_t samples) const {
    const std::int64_t length = plan_.samples_per_pattern;
    return (samples + length - 1) / length * length;
  }

  // Of captured graphs only: with single kernels, a GPU also waits inside an operation.
  std::optional<double> IdleOfGpu(std::int64_t samples) const {
    for (const GpuTimes::Span& span : gpu_times_->Busy()) log_->Worked({span.begin, span.end});
    return log_->Figures(watched_from_, samples, 1).idle;
  }

  bool RunTimed(const Step& step) {
    // The stages still process earlier samples when the first measured sample enters.
    const std::int64_t before = std::int64_t{2} * plan_.stage_count();
    if (gpu_times_ != nullptr && step.first >= watched_from_ - before) {
      bool worked = false;
      gpu_times_->Note([&] { worked = network_.Run(step); });
      return worked;
    }
    if (!device_.is_cpu()) return network_.Run(step);
    const auto start = std::chrono::steady_clock::now();
    const bool worked = network_.Run(step);
    log_->Worked({start, std::chrono::steady_clock::now()});
    return worked;
  }

  static at::Tensor LossOf(const StageOutput& output) { return BenchLoss(output.output); }
  void OnPredicted() {
    AwaitStream(device_);
    log_->Predicted();
  }

  const LayerChain chain_;
  const Plan plan_;
  const int threads_;
  const at::Device device_;
  const bool captures_;
  // Of the current turn.
  std::unique_ptr<TurnLog> log_;
  std::int64_t watched_from_ = 0;
  std::unique_ptr<GpuTimes> gpu_times_;  // Null: no measurement of the GPU.
  StagedNetwork network_;
};

}  // namespace

at::Tensor BenchLoss(const at::Tensor& output) { return output.square().mean(); }

std::unique_ptr<BenchContender> MakeSequentialContender(LayerChain chain, int threads,
                                                        const OptimizerOptions& optimizer,
                                                        at::Device device) {
  return std::make_unique<SequentialContender>(std::move(chain), threads, optimizer, device);
}

std::unique_ptr<BenchContender> MakeCopiesContender(
    std::vector<std::unique_ptr<BenchContender>> copies) {
  return std::make_unique<CopiesContender>(std::move(copies));
}

std::unique_ptr<BenchContender> MakeStagedContender(LayerChain chain,
                                                    StagedContenderOptions options) {
  return std::make_unique<StagedContender>(std::move(chain), std::move(options));
}

}  // namespace millrace::pipeline
