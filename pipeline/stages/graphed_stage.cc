#include "pipeline/stages/graphed_stage.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "absl/strings/str_cat.h"
#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/device/stage_stream.h"

namespace millrace::pipeline {
namespace {

// Each slot takes a pool's least memory, 22 MB, and as much again under `partime`.
constexpr int kMaxSlots = 32;

constexpr char kMoved[] =
    "an input has another address than at the capture: a stage beside it runs eagerly";

int MaxVersions(const Plan& plan) {
  int max = 1;
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    max = std::max(max, plan.rules(stage).versions);
  }
  return max;
}

}  // namespace

// More than the slots of a stage before one that splits its backward. That stage's weight gradient
// still reads the output of the sample, and precedes its next backward. The stage before goes
// forward into the same memory after its own backward of the next sample.
//
// A multiple of the pattern: then the backwards of two samples of a slot have the same distance in
// their stage's order as the samples. Also a multiple of the number of weight versions, because
// each pattern makes the same number of versions.
int SlotCount(const Plan& plan) {
  int max = 1;
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    const bool split_behind = stage < plan.stage_count() && plan.rules(stage + 1).splits_backward;
    max = std::max(max, plan.rules(stage).slots + (split_behind ? 1 : 0));
  }
  for (const Channel& channel : plan.channels) {
    max = std::max({max, channel.slots, channel.gradient_slots});
  }
  const int turn = plan.samples_per_pattern * MaxVersions(plan);
  return (max + turn - 1) / turn * turn;
}

int VersionsHeld(const Plan& plan, int stage) {
  return plan.rules(stage).versions == 1 ? 1 : MaxVersions(plan);
}

std::string WhyPlanIsNotCaptured(const Plan& plan, int stage) {
  const auto has_it = [stage](const std::vector<Operation>& order) {
    return std::ranges::any_of(order, [stage](const Operation& o) { return o.stage == stage; });
  };
  if (std::ranges::count_if(plan.devices, has_it) > 1) {
    return "its operations are in several streams";
  }
  if (const int slots = SlotCount(plan); slots > kMaxSlots) {
    return absl::StrCat("the schedule keeps ", slots,
                        " samples, and each needs graphs of its own; ", kMaxSlots,
                        " can have them");
  }
  return {};
}

bool StaticInput::Feed(const IncomingTensor& input, at::Device device) {
  const at::Tensor& tensor = input.tensor;
  if (!memory_.defined()) {
    is_own_ = !input.stable_address || tensor.device() != device;
    memory_ = is_own_ ? at::empty_like(tensor, tensor.options().device(device)) : tensor.detach();
  }
  if (!is_own_) {
    return tensor.is_alias_of(memory_) && tensor.const_data_ptr() == memory_.const_data_ptr();
  }
  if (tensor.sizes() != memory_.sizes()) return false;
  CopyTo(memory_, tensor);
  return true;
}

// A slot's graphs may share memory if the slot's next forward follows the last reader of its
// gradients. It does where each backward is of the sample whose activations it uses. Then every
// stage that reads the gradients has its backward and weight gradient of the sample before its own
// next forward of the slot. That forward precedes this stage's.
absl::StatusOr<GraphedStage::Pools> GraphedStage::NewPools(at::Device device, const Plan& plan) {
  bool shared = true;
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    shared = shared && plan.rules(stage).lead == 0;
  }
  Pools pools;
  MILLRACE_ASSIGN_OR_RETURN(pools.update, NewGraphPool(device));
  for (int slot = 0; slot < SlotCount(plan); ++slot) {
    MILLRACE_ASSIGN_OR_RETURN(pools.forward.emplace_back(), NewGraphPool(device));
    if (shared) continue;
    MILLRACE_ASSIGN_OR_RETURN(pools.backward.emplace_back(), NewGraphPool(device));
  }
  return pools;
}

GraphPool& GraphedStage::PoolOfBackward(std::int64_t slot) const {
  return *(pools_.backward.empty() ? pools_.forward : pools_.backward).at(slot);
}

GraphedStage::GraphedStage(const Options& options, Pools pools)
    : options_(options),
      pools_(std::move(pools)),
      // The first samples of a plan read other versions than later samples of their slots.
      warm_ups_(options.versions.held() == 1 ? kWarmUps : std::max(kWarmUps, options.slots)),
      slots_(options.slots),
      updates_of_(options.versions.held()) {}

std::string GraphedStage::why_eager() const {
  const MutexLock lock(mu_);
  return why_eager_;
}

std::unique_ptr<DeviceGraph> GraphedStage::Capture(GraphPool& pool,
                                                   absl::FunctionRef<void()> work) {
  if (StreamIsShared(options_.device)) {
    StayEager(
        "all CUDA streams of its GPU are other stages', until it is planned again: run fewer "
        "cameras there, or fewer stages for each");
    return nullptr;
  }
  try {
    return pool.Capture(work);
  } catch (const std::exception& e) {
    StayEager(CauseLine(e.what()));
    return nullptr;
  }
}

void GraphedStage::StayEager(std::string why) {
  stays_eager_ = true;
  const MutexLock lock(mu_);
  why_eager_ = std::move(why);
}

bool GraphedStage::FeedInputs(Slot& slot, const IncomingTensors& inputs,
                              const IncomingTensor& camera) {
  slot.inputs.resize(inputs.size());
  bool fits = !camera.tensor.defined() || slot.camera.Feed(camera, options_.device);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    fits = fits && slot.inputs[i].Feed(inputs[i], options_.device);
  }
  return fits;
}

// The inputs are leaves with their own version counters, so autograd does not notice later writes
// to their memory.
void GraphedStage::CaptureForward(Slot& slot, const SampleOperation& operation,
                                  const IncomingTensors& inputs) {
  const WeightVersions::Use use(options_.versions, operation.version);
  slot.activations = {};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    slot.activations.inputs.push_back(slot.inputs[i].memory().variable_data());
    slot.activations.inputs.back().set_requires_grad(inputs[i].requires_grad);
  }
  slot.activations.camera = slot.camera.memory();
  slot.keeps_graph = operation.keeps_graph;
  slot.forward_reads = options_.versions.PlaceOf(operation.version);
  slot.forward = Capture(*pools_.forward.at(operation.slot), [&] {
    const at::AutoGradMode graph(operation.keeps_graph);
    options_.work.Forward(slot.activations, operation.sample);
  });
  for (at::Tensor& output : slot.activations.outputs) output = output.detach();
}

bool GraphedStage::Matches(const Slot& slot, const SampleOperation& operation) const {
  return slot.keeps_graph == operation.keeps_graph &&
         slot.forward_reads == options_.versions.PlaceOf(operation.version);
}

GraphedStage::Slot* GraphedStage::Forward(const SampleOperation& operation,
                                          const IncomingTensors& inputs,
                                          const IncomingTensor& camera) {
  if (RunsEagerly(forwards_)) {
    ++forwards_;
    return nullptr;
  }
  if (!options_.work.capturable()) {
    StayEager("a layer puts another tensor in the place of a buffer");
    return nullptr;
  }
  Slot& slot = slots_.at(operation.slot);
  if (slot.forward != nullptr && !Matches(slot, operation)) {
    StayEager("a sample reads other weights, or keeps other tensors, than its slot's first one");
    return nullptr;
  }
  if (!FeedInputs(slot, inputs, camera)) {
    StayEager(kMoved);
    return nullptr;
  }
  if (slot.forward == nullptr) CaptureForward(slot, operation, inputs);
  if (slot.forward == nullptr) return nullptr;
  slot.forward->Launch();
  return &slot;
}

bool GraphedStage::FeedGradients(Slot& slot, const IncomingTensors& gradients) {
  slot.roots.resize(gradients.size());
  bool fits = true;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    fits = fits && slot.roots[i].Feed(gradients[i], options_.device);
  }
  return fits;
}

// No result of a forward inside the capture is needed after the capture.
void GraphedStage::CaptureBackward(Slot& slot, const SampleOperation& operation) {
  const WeightVersions::Use use(options_.versions, operation.version);
  slot.backward_reads = options_.versions.PlaceOf(operation.version);
  Tensors roots;
  for (const StaticInput& root : slot.roots) roots.push_back(root.memory());
  slot.backward = Capture(PoolOfBackward(operation.slot), [&] {
    const WeightGradients::Scope scope(options_.splits_backward ? &slot.left : nullptr);
    if (slot.keeps_graph) {
      slot.gradients = options_.work.Backward(slot.activations, roots, /*keep_graph=*/true);
      return;
    }
    const StageBuffers::Unmoved unmoved(options_.work.buffers());
    Activations again{.inputs = slot.activations.inputs, .camera = slot.activations.camera};
    options_.work.RepeatForward(again, operation.sample);
    slot.gradients = options_.work.Backward(again, roots, /*keep_graph=*/false);
  });
  if (slot.backward == nullptr) slot.left = {};
}

const Tensors* GraphedStage::Backward(Slot& slot, const SampleOperation& operation,
                                      const IncomingTensors& gradients) {
  if (RunsEagerly(backwards_) || updates_ == 0) {
    ++backwards_;
    return nullptr;
  }
  if (slot.backward != nullptr &&
      slot.backward_reads != options_.versions.PlaceOf(operation.version)) {
    StayEager("a backward reads other weights than its slot's first one");
    return nullptr;
  }
  if (!FeedGradients(slot, gradients)) {
    StayEager(kMoved);
    return nullptr;
  }
  if (slot.backward == nullptr) CaptureBackward(slot, operation);
  if (slot.backward == nullptr) return nullptr;
  slot.backward->Launch();
  return &slot.gradients;
}

// The warm-up has made the parameters' gradients, so the graph adds to them in place. If the
// capture fails, the slot's memory still holds what the backward left.
void GraphedStage::WeightGradient(Slot& slot, std::int64_t slot_number) {
  if (slot.weight_gradient == nullptr && !stays_eager_) {
    slot.weight_gradient =
        Capture(PoolOfBackward(slot_number), [&] { slot.left.AddToParameters(); });
  }
  if (slot.weight_gradient == nullptr) {
    slot.left.AddToParameters();
  } else {
    slot.weight_gradient->Launch();
  }
}

void GraphedStage::Update() {
  const WeightVersions& versions = options_.versions;
  std::unique_ptr<DeviceGraph>& update = updates_of_[versions.PlaceOf(versions.newest())];
  if (!RunsEagerly(updates_) && update == nullptr) {
    update = Capture(*pools_.update, [&] {
      options_.versions.Fill();
      options_.optimizer.StepOnDevice();
    });
  }
  if (stays_eager_ || update == nullptr) {
    ++updates_;
    options_.versions.Fill();
    options_.optimizer.Step();
    return;
  }
  options_.optimizer.PrepareOnDevice();
  update->Launch();
}

}  // namespace millrace::pipeline
