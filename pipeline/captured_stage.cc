#include "pipeline/captured_stage.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "base/status.h"
#include "pipeline/foreign_error.h"
#include "pipeline/stage_devices.h"

namespace millrace::pipeline {

// A whole number of patterns: then the backwards of two samples of a lane are as far apart in
// their stage's order as the samples are.
int LaneCount(const Plan& plan) {
  int most = 1;
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    most = std::max(most, plan.rules(stage).slots);
  }
  for (const Channel& channel : plan.channels) {
    most = std::max({most, channel.slots, channel.gradient_slots});
  }
  const int pattern = plan.samples_per_pattern;
  return (most + pattern - 1) / pattern * pattern;
}

std::string WhyPlanIsNotCaptured(const Plan& plan, int stage) {
  if (plan.rules(stage).versions > 1) return "samples in flight read several versions of weights";
  const auto has_it = [stage](const std::vector<Operation>& order) {
    return std::ranges::any_of(order, [stage](const Operation& o) { return o.stage == stage; });
  };
  if (std::ranges::count_if(plan.devices, has_it) > 1) {
    return "its operations are in several streams";
  }
  return {};
}

bool Inlet::Feed(const Arrived& arrived, at::Device device) {
  const at::Tensor& tensor = arrived.tensor;
  if (!memory_.defined()) {
    is_own_ = !arrived.lasting || tensor.device() != device;
    memory_ = is_own_ ? at::empty_like(tensor, tensor.options().device(device)) : tensor.detach();
  }
  if (!is_own_) {
    return tensor.is_alias_of(memory_) && tensor.const_data_ptr() == memory_.const_data_ptr();
  }
  if (tensor.sizes() != memory_.sizes()) return false;
  PutOnDevice(memory_, tensor);
  return true;
}

absl::StatusOr<CapturedStage::Pools> CapturedStage::NewPools(at::Device device) {
  Pools pools;
  for (auto& pool : pools) {
    MILLRACE_ASSIGN_OR_RETURN(pool, NewGraphPool(device));
  }
  return pools;
}

CapturedStage::CapturedStage(const Options& options, Pools pools)
    : options_(options), pools_(std::move(pools)), lanes_(options.lanes) {}

std::string CapturedStage::why() const {
  const MutexLock lock(mu_);
  return why_;
}

std::unique_ptr<DeviceGraph> CapturedStage::Capture(OperationKind kind,
                                                    absl::FunctionRef<void()> work) {
  try {
    return pools_[static_cast<int>(kind)]->Capture(work);
  } catch (const std::exception& e) {
    GiveUp(CauseLine(e.what()));
    return nullptr;
  }
}

void CapturedStage::GiveUp(std::string why) {
  gave_up_ = true;
  const MutexLock lock(mu_);
  why_ = std::move(why);
}

bool CapturedStage::FeedForward(Lane& lane, const Arrivals& inputs, const Arrived& camera) {
  lane.inlets.resize(inputs.size());
  bool fits = !camera.tensor.defined() || lane.camera.Feed(camera, options_.device);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    fits = fits && lane.inlets[i].Feed(inputs[i], options_.device);
  }
  return fits;
}

// Leaves that have counters of versions of their own: what is put into the memory later is no
// business of autograd's.
void CapturedStage::CaptureForward(Lane& lane, std::int64_t sample, const Arrivals& inputs,
                                   bool keeps_graph) {
  lane.made = {};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    lane.made.inputs.push_back(lane.inlets[i].memory().variable_data());
    lane.made.inputs.back().set_requires_grad(inputs[i].wants_gradient);
  }
  lane.made.camera = lane.camera.memory();
  lane.keeps_graph = keeps_graph;
  lane.forward = Capture(OperationKind::kForward, [&] {
    const at::AutoGradMode graph(keeps_graph);
    options_.work.GoForward(lane.made, sample);
  });
  for (at::Tensor& output : lane.made.outputs) output = output.detach();
}

CapturedStage::Lane* CapturedStage::Forward(std::int64_t number, std::int64_t sample,
                                            const Arrivals& inputs, const Arrived& camera,
                                            bool keeps_graph) {
  if (gave_up_ || forwards_ < kWarmUps) {
    ++forwards_;
    return nullptr;
  }
  if (!options_.work.is_the_same_each_time()) {
    GiveUp("a layer puts another tensor in the place of a buffer");
    return nullptr;
  }
  Lane& lane = lanes_.at(number);
  if (!FeedForward(lane, inputs, camera)) return nullptr;
  if (lane.forward == nullptr) CaptureForward(lane, sample, inputs, keeps_graph);
  if (lane.forward == nullptr || lane.keeps_graph != keeps_graph) return nullptr;
  lane.forward->Launch();
  return &lane;
}

bool CapturedStage::FeedBackward(Lane& lane, const Arrivals& gradients) {
  lane.roots.resize(gradients.size());
  bool fits = true;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    fits = fits && lane.roots[i].Feed(gradients[i], options_.device);
  }
  return fits;
}

// Of what a forward in the capture makes nothing is needed any more once that is over.
void CapturedStage::CaptureBackward(Lane& lane, std::int64_t sample) {
  Tensors roots;
  for (const Inlet& root : lane.roots) roots.push_back(root.memory());
  lane.backward = Capture(OperationKind::kBackward, [&] {
    if (lane.keeps_graph) {
      lane.gradients = options_.work.GoBackward(lane.made, roots, /*keep_graph=*/true);
      return;
    }
    const StageBuffers::Unmoved unmoved(options_.work.buffers());
    ForwardMade again{.inputs = lane.made.inputs, .camera = lane.made.camera};
    options_.work.GoForwardAgain(again, sample);
    lane.gradients = options_.work.GoBackward(again, roots, /*keep_graph=*/false);
  });
}

const Tensors* CapturedStage::Backward(Lane& lane, std::int64_t sample, const Arrivals& gradients) {
  if (gave_up_ || backwards_ < kWarmUps || updates_ == 0) {
    ++backwards_;
    return nullptr;
  }
  if (!FeedBackward(lane, gradients)) return nullptr;
  if (lane.backward == nullptr) CaptureBackward(lane, sample);
  if (lane.backward == nullptr) return nullptr;
  lane.backward->Launch();
  return &lane.gradients;
}

void CapturedStage::Update() {
  Optimizer& optimizer = options_.optimizer;
  if (!gave_up_ && updates_ >= kWarmUps && update_ == nullptr) {
    update_ = Capture(OperationKind::kUpdate, [&] { optimizer.StepOnDevice(); });
  }
  if (gave_up_ || update_ == nullptr) {
    ++updates_;
    optimizer.Step();
    return;
  }
  optimizer.PrepareOnDevice();
  update_->Launch();
}

}  // namespace millrace::pipeline
