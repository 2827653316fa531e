#include "service/registry/device_budget.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/error_reason.h"
#include "base/usable_cores.h"

namespace millrace::service {
namespace {

constexpr std::string_view kCpu = "cpu";

/// All threads of the CPU ("cpu:1") are one device. Each GPU is a device of its own.
std::string DeviceOf(const pipeline::StageDescription& stage) {
  const std::string_view device = stage.device;
  return device.substr(0, kCpu.size()) == kCpu ? std::string(kCpu) : stage.device;
}

double MillisecondsASample(const pipeline::StageDescription& stage, int update_every) {
  const double learning = stage.backward_ms + stage.update_ms;
  return stage.forward_ms + (update_every > 0 ? learning / update_every : 0);
}

/// "'street' takes 1.2", for each stream with a load on the device.
std::string WhoTakes(const std::string& device, const std::vector<StreamLoad>& others) {
  std::vector<std::string> takers;
  for (const StreamLoad& other : others) {
    const auto found = other.devices.find(device);
    if (found == other.devices.end()) continue;
    takers.push_back(absl::StrFormat("'%s' takes %.2f", other.stream, found->second));
  }
  return absl::StrJoin(takers, ", ");
}

double TakenOf(const std::string& device, const std::vector<StreamLoad>& others) {
  double taken = 0;
  for (const StreamLoad& other : others) {
    const auto found = other.devices.find(device);
    if (found != other.devices.end()) taken += found->second;
  }
  return taken;
}

absl::Status FitsOn(const std::string& device, double budget, const StreamLoad& stream,
                    const std::vector<StreamLoad>& others) {
  const double needed = stream.devices.at(device);
  const double taken = TakenOf(device, others);
  if (taken == 0 || taken + needed <= budget) return absl::OkStatus();
  const bool cpu = device == kCpu;
  const std::string left = absl::StrFormat("%.2f", std::max(budget - taken, 0.0));
  return WithReason(
      "DEVICE_BUDGET_EXCEEDED",
      {{"stream", stream.stream},
       {"device", device},
       {"needed", absl::StrFormat("%.2f", needed)},
       {"left", left}},
      absl::ResourceExhaustedError(absl::StrFormat(
          "%.2f %s are needed at %.4g frames a second, and of %.4g there are %s left: %s; lower "
          "source.max_fps or the input's size. Or delete another stream, or raise budget.%s",
          needed, cpu ? "cores" : absl::StrCat("of ", device), stream.frames_per_second, budget,
          left, WhoTakes(device, others), cpu ? "cores" : "gpu")));
}

}  // namespace

double FrameRateOf(const StreamConfig& config, double camera_frames_per_second) {
  const ingest::SourceOptions& source = config.source;
  if (ingest::CanWait(source)) return 0;
  double rate = camera_frames_per_second;
  if (rate == 0) rate = config.learner.frames_per_second;
  if (rate == 0 && std::string_view(source.uri).substr(0, 5) == "test:") {
    rate = source.test_frames_per_second;
  }
  if (rate == 0) rate = kUsualFrameRate;
  const double max_rate = source.max_frames_per_second;
  return max_rate > 0 ? std::min(rate, max_rate) : rate;
}

StreamLoad LoadOf(const StreamConfig& config, const pipeline::LearnerDescription& learner,
                  double camera_frames_per_second) {
  StreamLoad load{.stream = config.name,
                  .frames_per_second = FrameRateOf(config, camera_frames_per_second)};
  for (const pipeline::StageDescription& stage : learner.stages) {
    const std::string device = DeviceOf(stage);
    const double busy =
        MillisecondsASample(stage, learner.update_every) / 1000 * load.frames_per_second;
    const int threads = device == kCpu ? std::max(config.learner.threads_per_stage, 1) : 1;
    if (busy > 0) load.devices[device] += busy * threads;
  }
  return load;
}

absl::Status Fits(const StreamLoad& stream, const std::vector<StreamLoad>& others,
                  const Budget& budget) {
  const double cores = budget.cores.value_or(UsableCores());
  for (const auto& [device, needed] : stream.devices) {
    absl::Status fits =
        FitsOn(device, device == kCpu ? cores : budget.gpu.value_or(1), stream, others);
    if (!fits.ok()) return fits;
  }
  return absl::OkStatus();
}

}  // namespace millrace::service
