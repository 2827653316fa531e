#include "pipeline/planner/cost_watch.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace millrace::pipeline {

double Movement(const std::vector<StageCost>& planned, const std::vector<StageCost>& measured) {
  MILLRACE_CHECK(planned.size() == measured.size());
  double max = 0;
  double slowest = 0;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    max = std::max(max, std::abs(measured[i].forward - planned[i].forward) +
                            std::abs(measured[i].backward - planned[i].backward) +
                            std::abs(measured[i].update - planned[i].update));
    slowest = std::max(slowest, planned[i].total());
  }
  return slowest > 0 ? max / slowest : 0;
}

CostWatch::CostWatch(const Options& options) : options_(options), times_(options.max_stages) {}

void CostWatch::PlannedWith(std::vector<StageCost> planned, nanoseconds not_before) {
  MILLRACE_CHECK(planned.size() <= times_.size());
  planned_ = std::move(planned);
  not_before_ = not_before;
}

void CostWatch::Forget() {
  reported_.reset();
  for (OfStage& stage : times_) {
    for (Times& times : stage) times.Forget();
  }
}

void CostWatch::Record(const Step& step, nanoseconds took) {
  Times& times = times_[step.stage - 1][static_cast<int>(step.kind)];
  const bool update = step.kind == OperationKind::kUpdate;
  times.Add(step.last, update ? took : took / step.samples());
}

std::optional<std::vector<StageCost>> CostWatch::Measured() const {
  if (reported_) return reported_;
  std::vector<StageCost> measured = planned_;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    const auto& [forwards, backwards, weight_gradients, updates] = times_[i];
    StageCost& cost = measured[i];
    const std::optional<double> forward = forwards.MedianMs();
    if (!forward) return std::nullopt;
    const double moved = cost.forward > 0 ? *forward / cost.forward : 1;
    const auto fill = [&, newest = forwards.newest_sample()](const Times& times, double& value) {
      const bool lately = newest - times.newest_sample() <= kLately;
      const std::optional<double> median = lately ? times.MedianMs() : std::nullopt;
      value = median.value_or(value * moved);
    };
    if (weight_gradients.any()) {
      double inputs = cost.input_gradient();
      fill(backwards, inputs);
      fill(weight_gradients, cost.weight_gradient);
      cost.backward = inputs + cost.weight_gradient;
    } else {
      const double planned = cost.backward;
      fill(backwards, cost.backward);
      if (planned > 0) cost.weight_gradient *= cost.backward / planned;
    }
    fill(updates, cost.update);
    cost.forward = *forward;
  }
  return measured;
}

std::optional<std::vector<StageCost>> CostWatch::Moved(nanoseconds now) const {
  if (options_.share <= 0 || planned_.empty() || now < not_before_) return std::nullopt;
  std::optional<std::vector<StageCost>> measured = Measured();
  if (measured && Movement(planned_, *measured) <= options_.share) measured.reset();
  return measured;
}

void CostWatch::Times::Add(std::int64_t sample, nanoseconds took) {
  const std::int64_t count = count_;
  nanoseconds_[count % kWindow].store(took.count(), std::memory_order_relaxed);
  newest_sample_.store(sample, std::memory_order_relaxed);
  count_.store(count + 1, std::memory_order_release);
}

void CostWatch::Times::Forget() {
  count_ = 0;
  newest_sample_ = 0;
}

std::optional<double> CostWatch::Times::MedianMs() const {
  const std::int64_t count = count_.load(std::memory_order_acquire);
  if (count < kMinOperations) return std::nullopt;
  std::array<std::int64_t, kWindow> copy = {};
  const auto end = copy.begin() + std::min<std::int64_t>(count, kWindow);
  std::transform(nanoseconds_.begin(), nanoseconds_.begin() + (end - copy.begin()), copy.begin(),
                 [](const auto& value) { return value.load(std::memory_order_relaxed); });
  const auto middle = copy.begin() + (end - copy.begin()) / 2;
  std::nth_element(copy.begin(), middle, end);
  return static_cast<double>(*middle) / 1e6;
}

}  // namespace millrace::pipeline
