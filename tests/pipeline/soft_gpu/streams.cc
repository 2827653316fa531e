#include "tests/pipeline/soft_gpu/streams.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include <c10/util/Exception.h>

namespace millrace::soft_gpu {

using Lock = std::lock_guard<std::recursive_mutex>;

Streams& Streams::Get() {
  static Streams* const streams = new Streams;  // Tensors may be freed after main().
  return *streams;
}

void Streams::Put(std::int64_t stream, Task task) {
  const Lock lock(mu_);
  Queue& queue = At(stream);
  if (queue.recording != nullptr) {
    queue.recording->tasks.push_back(std::move(task));
    return;
  }
  queue.waiting.push_back({.task = std::move(task)});
  ++queue.put;
}

Mark Streams::Here(std::int64_t stream) {
  const Lock lock(mu_);
  return {stream, At(stream).put};
}

void Streams::Wait(std::int64_t stream, Mark mark) {
  const Lock lock(mu_);
  Queue& queue = At(stream);
  if (mark.stream == stream) return;
  if (queue.recording != nullptr) {
    throw std::runtime_error("a stream that is recorded waits for what is not in the recording");
  }
  queue.waiting.push_back({.until = mark});
  ++queue.put;
}

void Streams::After(std::vector<Mark> marks, Task task) {
  const Lock lock(mu_);
  pending_.push_back({std::move(marks), std::move(task)});
}

bool Streams::Passed(Mark mark) {
  const Lock lock(mu_);
  return At(mark.stream).done >= mark.position;
}

void Streams::FinishStream(std::int64_t stream) {
  const Lock lock(mu_);
  if (At(stream).recording != nullptr) {
    throw std::runtime_error("the host waits for a stream that is recorded");
  }
  Finish(Here(stream));
}

void Streams::Fail(bool failed) {
  const Lock lock(mu_);
  failed_ = failed;
  OfThread() = {.waits = OfThread().waits};
}

void Streams::FailAfter(std::int64_t waits) {
  const Lock lock(mu_);
  OfThread().fails_after = OfThread().waits + waits;
}

std::int64_t Streams::waits() { return OfThread().waits; }

Streams::Waits& Streams::OfThread() {
  thread_local Waits waits;
  return waits;
}

void Streams::CheckAlive() {
  Waits& mine = OfThread();
  failed_ = failed_ || ++mine.waits > mine.fails_after;
  if (!failed_) return;
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 700,
                              "CUDA error: an illegal memory access was encountered");
}

void Streams::Finish(Mark mark) {
  const Lock lock(mu_);
  CheckAlive();
  while (At(mark.stream).done < mark.position) DoOne();
}

void Streams::FinishAll() {
  FinishAll(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
}

void Streams::FinishAll(std::int64_t first, std::int64_t last) {
  const Lock lock(mu_);
  const auto any = [&](const auto& is_so) {
    return std::ranges::any_of(queues_, [&](const auto& queue) {
      return first <= queue.first && queue.first <= last && is_so(queue.second);
    });
  };
  if (any([](const Queue& queue) { return queue.recording != nullptr; })) {
    throw std::runtime_error("the host waits for a device with a stream that is recorded");
  }
  while (any([](const Queue& queue) { return !queue.waiting.empty(); })) DoOne();
  DoPending();
}

std::int64_t Streams::puts() {
  const Lock lock(mu_);
  std::int64_t puts = 0;
  for (const auto& [number, queue] : queues_) puts += queue.put;
  return puts;
}

void Streams::BeginRecording(std::int64_t stream) {
  const Lock lock(mu_);
  At(stream).recording = std::make_unique<Recording>();
}

std::shared_ptr<const Recording> Streams::EndRecording(std::int64_t stream) {
  const Lock lock(mu_);
  return std::exchange(At(stream).recording, nullptr);
}

bool Streams::recording(std::int64_t stream) {
  const Lock lock(mu_);
  return At(stream).recording != nullptr;
}

void Streams::Replay(std::int64_t stream, const std::shared_ptr<const Recording>& recording) {
  // One piece: a graph is done as a whole.
  Put(stream, [recording] {
    for (const Task& task : recording->tasks) task();
  });
}

bool Streams::Ready(const Entry& entry) {
  return entry.task || At(entry.until.stream).done >= entry.until.position;
}

void Streams::DoOne() {
  DoPending();
  std::vector<Queue*> ready;
  for (auto& [number, queue] : queues_) {
    if (!queue.waiting.empty() && Ready(queue.waiting.front())) ready.push_back(&queue);
  }
  if (ready.empty()) throw std::logic_error("streams wait for each other");
  Queue& queue = *ready[random_() % ready.size()];
  const Entry entry = std::move(queue.waiting.front());
  queue.waiting.pop_front();
  ++queue.done;
  if (entry.task) entry.task();
}

void Streams::DoPending() {
  for (auto one = pending_.begin(); one != pending_.end();) {
    const bool passed = std::ranges::all_of(
        one->marks, [this](Mark mark) { return At(mark.stream).done >= mark.position; });
    if (!passed) {
      ++one;
      continue;
    }
    one->task();
    one = pending_.erase(one);
  }
}

}  // namespace millrace::soft_gpu
