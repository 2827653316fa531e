#include "pipeline/engine/run_history.h"

#include <algorithm>
#include <utility>

namespace millrace::pipeline {

// A thread that reads a value stored here also sees that its operation was begun.
void OperationRing::Note(const Step& step, nanoseconds start, nanoseconds end) {
  const std::int64_t number = begun_.load(std::memory_order_relaxed);
  if (keeps_first_ && number == size()) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  begun_.store(number + 1, std::memory_order_relaxed);
  Place& place = places_[number % size()];
  place.kind.store(step.kind, std::memory_order_release);
  place.stage.store(step.stage, std::memory_order_release);
  place.first.store(step.first, std::memory_order_release);
  place.last.store(step.last, std::memory_order_release);
  place.start.store(start.count(), std::memory_order_release);
  place.end.store(end.count(), std::memory_order_release);
  noted_.store(number + 1, std::memory_order_release);
}

PastOperation OperationRing::Read(std::int64_t number, std::size_t device) const {
  const Place& place = places_[number % size()];
  return {.device = device,
          .step = {.kind = place.kind.load(std::memory_order_acquire),
                   .stage = place.stage.load(std::memory_order_acquire),
                   .first = place.first.load(std::memory_order_acquire),
                   .last = place.last.load(std::memory_order_acquire)},
          .start = nanoseconds(place.start.load(std::memory_order_acquire)),
          .end = nanoseconds(place.end.load(std::memory_order_acquire))};
}

// Reads the newest first. The oldest entries may be overwritten meanwhile; it discards those.
void OperationRing::Since(nanoseconds since, std::size_t device,
                          std::vector<PastOperation>& operations) const {
  const std::size_t before = operations.size();
  const std::int64_t noted = noted_.load(std::memory_order_acquire);
  for (std::int64_t number = noted - 1; number >= 0; --number) {
    const PastOperation operation = Read(number, device);
    const bool overwritten = number < begun_.load(std::memory_order_acquire) - size();
    if (overwritten || operation.end < since) break;
    operations.push_back(operation);
  }
  std::reverse(operations.begin() + static_cast<std::ptrdiff_t>(before), operations.end());
}

ObserveOperation RunHistory::Observer(std::size_t devices) {
  const MutexLock lock(mu_);
  while (rings_.size() < devices) rings_.emplace_back(limit_);
  std::vector<OperationRing*> rings;
  for (std::size_t device = 0; device < devices; ++device) rings.push_back(&rings_[device]);
  return [rings = std::move(rings)](const PastOperation& operation, bool /*worked*/) {
    rings[operation.device]->Note(operation.step, operation.start, operation.end);
  };
}

std::vector<PastOperation> RunHistory::Since(nanoseconds since) const {
  const MutexLock lock(mu_);
  std::vector<PastOperation> operations;
  for (std::size_t device = 0; device < rings_.size(); ++device) {
    rings_[device].Since(since, device, operations);
  }
  return operations;
}

std::int64_t RunHistory::left_out() const {
  const MutexLock lock(mu_);
  std::int64_t left_out = 0;
  for (const OperationRing& ring : rings_) left_out += ring.left_out();
  return left_out;
}

}  // namespace millrace::pipeline
