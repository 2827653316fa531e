#include "pipeline/nn/batch_statistics.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/var_mean.h>
#include <torch/library.h>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

// One per thread.
struct Gathered {
  BatchStatistics* statistics = nullptr;
  const std::vector<at::Tensor>* buffers = nullptr;
  std::vector<const void*> calls;  // The running means of the calls so far.
};
thread_local Gathered gathered;

bool IsBuffer(const at::Tensor& tensor) {
  return std::any_of(gathered.buffers->begin(), gathered.buffers->end(),
                     [&](const at::Tensor& buffer) { return buffer.is_same(tensor); });
}

// NOLINTNEXTLINE(readability-function-size): the operator has these arguments.
at::Tensor BatchNorm(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                     const std::optional<at::Tensor>& bias,
                     const std::optional<at::Tensor>& running_mean,
                     const std::optional<at::Tensor>& running_var, bool training, double momentum,
                     double eps, bool cudnn_enabled) {
  const c10::impl::ExcludeDispatchKeyGuard once(kHookKey);
  if (gathered.statistics == nullptr || !training || !running_mean || !running_var ||
      !IsBuffer(*running_mean) || !IsBuffer(*running_var)) {
    return at::batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps,
                          cudnn_enabled);
  }
  const void* const layer = running_mean->unsafeGetTensorImpl();
  const auto earlier = std::count(gathered.calls.begin(), gathered.calls.end(), layer);
  gathered.calls.push_back(layer);
  gathered.statistics->Add({input, *running_mean, *running_var, momentum},
                           static_cast<int>(earlier));
  return at::batch_norm(input, weight, bias, {}, {}, training, momentum, eps, cudnn_enabled);
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, library) { library.impl("batch_norm", &BatchNorm); }

void Move(const at::Tensor& average, double momentum, const at::Tensor& to) {
  const at::Tensor value = average.detach();
  average.variable_data().copy_(value.to(at::kDouble) * (1 - momentum) + to * momentum);
}

}  // namespace

BatchStatistics::Gathering::Gathering(BatchStatistics& statistics,
                                      const std::vector<at::Tensor>& buffers) {
  MILLRACE_CHECK(gathered.statistics == nullptr);
  gathered.statistics = &statistics;
  gathered.buffers = &buffers;
}

BatchStatistics::Gathering::~Gathering() {
  gathered.statistics = nullptr;
  gathered.buffers = nullptr;
  gathered.calls.clear();
}

// Chan, Golub and LeVeque: combines the means and squares of two parts.
void BatchStatistics::Add(const Call& call, int earlier_calls) {
  const at::NoGradGuard no_graph;
  const auto channels = call.running_mean.numel();
  const auto by_channel =
      call.input.detach().to(at::kDouble).transpose(0, 1).reshape({channels, -1});
  const auto count = by_channel.size(1);
  const auto [variance, mean] = at::var_mean(by_channel, at::IntArrayRef{1}, /*correction=*/0);
  const at::Tensor squares = variance * count;

  auto sums = std::find_if(all_.begin(), all_.end(), [&](const Sums& s) {
    return s.running_mean.is_same(call.running_mean) && s.earlier_calls == earlier_calls;
  });
  if (sums == all_.end()) {
    all_.push_back(
        {call.running_mean, call.running_var, earlier_calls, call.momentum, count, mean, squares});
    return;
  }
  const std::int64_t both = sums->count + count;
  const at::Tensor apart = mean - sums->mean;
  sums->mean = sums->mean + apart * (static_cast<double>(count) / static_cast<double>(both));
  sums->squares = sums->squares + squares +
                  apart * apart *
                      (static_cast<double>(sums->count) * static_cast<double>(count) /
                       static_cast<double>(both));
  sums->count = both;
}

void BatchStatistics::Commit() {
  const at::NoGradGuard no_graph;
  for (const Sums& sums : all_) {
    Move(sums.running_mean, sums.momentum, sums.mean);
    // Unbiased, like LibTorch's variance.
    Move(sums.running_var, sums.momentum,
         sums.squares / static_cast<double>(std::max<std::int64_t>(sums.count - 1, 1)));
  }
  all_.clear();
}

}  // namespace millrace::pipeline
