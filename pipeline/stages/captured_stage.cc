#include "pipeline/stages/captured_stage.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "base/foreign_error.h"
#include "base/status.h"
#include "pipeline/device/stage_devices.h"
#include "pipeline/device/stage_stream.h"

namespace millrace::pipeline {
namespace {

constexpr char kMoved[] =
    "what comes to it lies elsewhere than when it was captured: a stage beside it goes without";

int MostVersions(const Plan& plan) {
  int most = 1;
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    most = std::max(most, plan.rules(stage).versions);
  }
  return most;
}

}  // namespace

// A multiple of the pattern: then the backwards of two samples of a lane have the same distance in
// their stage's order as the samples. Also a multiple of the number of weight versions, because
// each pattern makes the same number of versions.
int LaneCount(const Plan& plan) {
  int most = 1;
  for (int stage = 1; stage <= plan.stage_count(); ++stage) {
    most = std::max(most, plan.rules(stage).slots);
  }
  for (const Channel& channel : plan.channels) {
    most = std::max({most, channel.slots, channel.gradient_slots});
  }
  const int turn = plan.samples_per_pattern * MostVersions(plan);
  return (most + turn - 1) / turn * turn;
}

int VersionsHeld(const Plan& plan, int stage) {
  return plan.rules(stage).versions == 1 ? 1 : MostVersions(plan);
}

std::string WhyPlanIsNotCaptured(const Plan& plan, int stage) {
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
    : options_(options),
      pools_(std::move(pools)),
      // The first samples of a plan read other versions than later samples of their lanes.
      warm_ups_(options.versions.held() == 1 ? kWarmUps : std::max(kWarmUps, options.lanes)),
      lanes_(options.lanes),
      updates_of_(options.versions.held()) {}

std::string CapturedStage::why() const {
  const MutexLock lock(mu_);
  return why_;
}

std::unique_ptr<DeviceGraph> CapturedStage::Capture(OperationKind kind,
                                                    absl::FunctionRef<void()> work) {
  if (StreamIsShared(options_.device)) {
    GiveUp(
        "all CUDA streams of its GPU are other stages', until it is planned again: run fewer "
        "cameras there, or fewer stages for each");
    return nullptr;
  }
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

// The inputs are leaves with their own version counters, so autograd does not notice later writes
// to their memory.
void CapturedStage::CaptureForward(Lane& lane, const Pass& pass, const Arrivals& inputs) {
  const WeightVersions::Use use(options_.versions, pass.version);
  lane.made = {};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    lane.made.inputs.push_back(lane.inlets[i].memory().variable_data());
    lane.made.inputs.back().set_requires_grad(inputs[i].wants_gradient);
  }
  lane.made.camera = lane.camera.memory();
  lane.keeps_graph = pass.keeps_graph;
  lane.forward_reads = options_.versions.PlaceOf(pass.version);
  lane.forward = Capture(OperationKind::kForward, [&] {
    const at::AutoGradMode graph(pass.keeps_graph);
    options_.work.GoForward(lane.made, pass.sample);
  });
  for (at::Tensor& output : lane.made.outputs) output = output.detach();
}

bool CapturedStage::ReadsAsCaptured(const Lane& lane, const Pass& pass) const {
  return lane.keeps_graph == pass.keeps_graph &&
         lane.forward_reads == options_.versions.PlaceOf(pass.version);
}

CapturedStage::Lane* CapturedStage::Forward(const Pass& pass, const Arrivals& inputs,
                                            const Arrived& camera) {
  if (gave_up_ || forwards_ < warm_ups_) {
    ++forwards_;
    return nullptr;
  }
  if (!options_.work.is_the_same_each_time()) {
    GiveUp("a layer puts another tensor in the place of a buffer");
    return nullptr;
  }
  Lane& lane = lanes_.at(pass.lane);
  if (lane.forward != nullptr && !ReadsAsCaptured(lane, pass)) {
    GiveUp("a sample reads other weights, or keeps something else, than its lane's first");
    return nullptr;
  }
  if (!FeedForward(lane, inputs, camera)) {
    GiveUp(kMoved);
    return nullptr;
  }
  if (lane.forward == nullptr) CaptureForward(lane, pass, inputs);
  if (lane.forward == nullptr) return nullptr;
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

// No result of a forward inside the capture is needed after the capture.
void CapturedStage::CaptureBackward(Lane& lane, const Pass& pass) {
  const WeightVersions::Use use(options_.versions, pass.version);
  lane.backward_reads = options_.versions.PlaceOf(pass.version);
  Tensors roots;
  for (const Inlet& root : lane.roots) roots.push_back(root.memory());
  lane.backward = Capture(OperationKind::kBackward, [&] {
    if (lane.keeps_graph) {
      lane.gradients = options_.work.GoBackward(lane.made, roots, /*keep_graph=*/true);
      return;
    }
    const StageBuffers::Unmoved unmoved(options_.work.buffers());
    ForwardMade again{.inputs = lane.made.inputs, .camera = lane.made.camera};
    options_.work.GoForwardAgain(again, pass.sample);
    lane.gradients = options_.work.GoBackward(again, roots, /*keep_graph=*/false);
  });
}

const Tensors* CapturedStage::Backward(Lane& lane, const Pass& pass, const Arrivals& gradients) {
  if (gave_up_ || backwards_ < warm_ups_ || updates_ == 0) {
    ++backwards_;
    return nullptr;
  }
  if (lane.backward != nullptr && lane.backward_reads != options_.versions.PlaceOf(pass.version)) {
    GiveUp("a backward reads other weights than its lane's first");
    return nullptr;
  }
  if (!FeedBackward(lane, gradients)) {
    GiveUp(kMoved);
    return nullptr;
  }
  if (lane.backward == nullptr) CaptureBackward(lane, pass);
  if (lane.backward == nullptr) return nullptr;
  lane.backward->Launch();
  return &lane.gradients;
}

void CapturedStage::Update() {
  const WeightVersions& versions = options_.versions;
  std::unique_ptr<DeviceGraph>& update = updates_of_[versions.PlaceOf(versions.newest())];
  if (!gave_up_ && updates_ >= warm_ups_ && update == nullptr) {
    update = Capture(OperationKind::kUpdate, [&] {
      options_.versions.Fill();
      options_.optimizer.StepOnDevice();
    });
  }
  if (gave_up_ || update == nullptr) {
    ++updates_;
    options_.versions.Fill();
    options_.optimizer.Step();
    return;
  }
  options_.optimizer.PrepareOnDevice();
  update->Launch();
}

}  // namespace millrace::pipeline
