#include "service/frames/learning_window.h"

#include "service/frames/windows.h"

namespace millrace::service {
namespace {

std::optional<double> GainOf(const Comparison& sum) {
  if (sum.loss_reference >= sum.loss_no_motion) return std::nullopt;
  return (sum.loss_no_motion - sum.loss) / (sum.loss_no_motion - sum.loss_reference);
}

}  // namespace

std::optional<double> RecentLearning::explained() const {
  if (!(loss_no_motion > 0)) return std::nullopt;
  return 1 - loss / loss_no_motion;
}

void LearningWindow::Record(const Prediction& prediction) {
  const pipeline::ModelPrediction& model = prediction.model;
  if (!model.finite || !model.has_loss()) return;
  entries_.push_back({.loss = model.loss,
                      .loss_no_motion = model.loss_no_motion,
                      .comparison = prediction.comparison,
                      .spurious_motion = prediction.spurious_motion});
  if (entries_.size() > kLossWindow) entries_.pop_front();
}

RecentLearning LearningWindow::Recent() const {
  if (entries_.empty()) return {};
  RecentLearning recent{.predictions = static_cast<int>(entries_.size())};
  Comparison compared;
  int spurious = 0;
  for (const Entry& entry : entries_) {
    recent.loss += entry.loss;
    recent.loss_no_motion += entry.loss_no_motion;
    spurious += entry.spurious_motion ? 1 : 0;
    if (!entry.comparison) continue;
    compared.loss += entry.comparison->loss;
    compared.loss_no_motion += entry.comparison->loss_no_motion;
    compared.loss_reference += entry.comparison->loss_reference;
  }
  recent.loss /= recent.predictions;
  recent.loss_no_motion /= recent.predictions;
  // Fewer predictions than a window are too few.
  const bool full = entries_.size() == kLossWindow;
  recent.spurious_share = full ? static_cast<double>(spurious) / recent.predictions : 0;
  recent.gain = GainOf(compared);
  return recent;
}

}  // namespace millrace::service
