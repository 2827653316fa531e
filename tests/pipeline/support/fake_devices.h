// Devices without threads. They run the work of their queues in any order that the rules allow, so
// that the possible races of real devices happen here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "pipeline/engine/devices.h"
#include "pipeline/engine/work_progress.h"

namespace millrace::pipeline {

/// One need of one operation of a plan, or of an admission: then `device` is kHost, and `place` the
/// sample of the pattern.
struct Edge {
  static constexpr auto kHost = static_cast<std::size_t>(-1);

  std::size_t device = 0;
  std::size_t place = 0;
  Dependency dependency = {};

  friend bool operator==(const Edge&, const Edge&) = default;
};

/// The choice of devices if several orders are possible.
struct FakeOrder {
  std::uint64_t seed = 0;
  /// Does not wait for it, though it is told to.
  std::optional<Edge> ignored = {};
  /// Does what it would wait for as late as it may.
  bool late = false;
};

class FakeDevices final : public Devices {
 public:
  /// `arrive`: a sample that was admitted is there, for devices to read.
  FakeDevices(Options options, FakeOrder order, std::function<void(std::int64_t)> arrive)
      : options_(std::move(options)),
        order_(order),
        arrive_(std::move(arrive)),
        random_(order.seed),
        progress_(options_.plan),
        queues_(options_.plan.devices.size()) {
    for (std::size_t device = 0; device < queues_.size(); ++device) {
      stopped_ = stopped_ || !options_.start(device);
    }
  }

  void Enqueue(std::size_t device, const Work& work) override { queues_[device].push_back(work); }

  void Admit(const Step& step) override {
    camera_.push_back(step);
    if (order_.late) return;
    for (std::uint64_t steps = random_() % 8; steps > 0 && DoOne(); --steps) {
    }
  }
  void EndAdmission() override {
    while (!camera_.empty() && DoOne()) {
    }
    progress_.SkipRest({.kind = OperationKind::kForward, .stage = 0});
  }

  bool Await(std::span<const Dependency> dependencies, std::int64_t pattern) override {
    const std::size_t in_pattern = admitted_++ % options_.plan.samples_per_pattern;
    const auto waits = [&] {
      return std::ranges::any_of(dependencies, [&](const Dependency& dependency) {
        return Waits(Edge::kHost, in_pattern, dependency, pattern);
      });
    };
    while (!stopped_ && waits()) {
      if (!DoOne()) return Stuck();
    }
    return !stopped_;
  }

  void Join() override {
    while (DoOne()) {
    }
    const auto done = [](const auto& queue) { return queue.empty(); };
    if (!stopped_ && !std::ranges::all_of(queues_, done)) Stuck();
  }

  [[nodiscard]] std::int64_t done(OperationKind kind, int stage) const override {
    return progress_.done(kind, stage);
  }

 private:
  [[nodiscard]] bool Waits(std::size_t device, std::size_t place, const Dependency& dependency,
                           std::int64_t pattern) const {
    const std::optional<Edge>& ignored = order_.ignored;
    if (ignored && device == ignored->device && place == ignored->place &&
        dependency == ignored->dependency) {
      return false;
    }
    return !progress_.Meets({&dependency, 1}, pattern);
  }

  [[nodiscard]] std::vector<std::size_t> Runnable() const {
    std::vector<std::size_t> devices;
    for (std::size_t device = 0; device < queues_.size(); ++device) {
      if (queues_[device].empty()) continue;
      const Work& work = queues_[device].front();
      const auto waits = [&](const Dependency& dependency) {
        return Waits(device, work.place, dependency, work.pattern);
      };
      if (std::ranges::none_of(work.dependencies, waits)) devices.push_back(device);
    }
    if (!camera_.empty()) devices.push_back(queues_.size());
    return devices;
  }

  // What makes what the ignored need is about.
  [[nodiscard]] bool IsLate(std::size_t device) const {
    if (!order_.late || !order_.ignored) return false;
    const Dependency& dependency = order_.ignored->dependency;
    if (device == queues_.size()) return dependency.stage == 0;
    const Step& step = queues_[device].front().step;
    return step.kind == dependency.kind && step.stage == dependency.stage;
  }

  bool DoOne() {
    std::vector<std::size_t> devices = Runnable();
    if (stopped_ || devices.empty()) return false;
    if (!std::ranges::all_of(devices, [&](std::size_t d) { return IsLate(d); })) {
      std::erase_if(devices, [&](std::size_t d) { return IsLate(d); });
    }
    // One device runs ahead for a while, then another.
    if (random_() % 16 == 0) favourite_ = random_();
    Do(devices[favourite_ % devices.size()]);
    return true;
  }

  void Do(std::size_t device) {
    if (device == queues_.size()) {
      arrive_(camera_.front().first);
      progress_.Complete(camera_.front());
      camera_.pop_front();
      return;
    }
    const Work work = queues_[device].front();
    queues_[device].pop_front();
    if (work.what == Work::What::kRun) {
      stopped_ = stopped_ || !options_.run(device, work);
    }
    CompleteWork(work, options_.plan.devices[device], progress_);
  }

  // No device can continue: a real device would wait without end.
  bool Stuck() {
    options_.run(0, {.step = {OperationKind::kForward, -1, -1, -1}});
    stopped_ = true;
    return false;
  }

  const Options options_;
  const FakeOrder order_;
  const std::function<void(std::int64_t)> arrive_;
  std::mt19937_64 random_;
  std::uint64_t favourite_ = 0;
  Progress progress_;
  std::vector<std::deque<Work>> queues_;
  std::deque<Step> camera_;  // Samples on their way: a device more.
  std::size_t admitted_ = 0;
  bool stopped_ = false;
};

[[nodiscard]] inline MakeDevices FakeDevicesIn(FakeOrder order,
                                               std::function<void(std::int64_t)> arrive) {
  return [order, arrive](Devices::Options options) {
    return std::make_unique<FakeDevices>(std::move(options), order, arrive);
  };
}

}  // namespace millrace::pipeline
