#include "service/server/camera_fit.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log_about.h"
#include "ingest/frame/grid.h"
#include "ingest/source/uri.h"
#include "pipeline/learner/flow_network_names.h"
#include "service/registry/device_budget.h"
#include "service/rpc/caught.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

/// Relative difference of frame rates up to which a plan need not be made again.
constexpr double kSameRate = 0.1;

bool LeavesInput(const StreamConfig& config) {
  return !config.input_is_set && !IsOfLabels(config.task);
}

bool LeavesRate(const StreamConfig& config) {
  return config.learner.schedule == "auto" && config.learner.frames_per_second == 0;
}

bool IsCamera(const ingest::SourceOptions& source) {
  const auto uri = ingest::ParseUri(source.uri);
  if (!uri.ok()) return false;
  const auto kind = ingest::KindOf(*uri);
  return kind == ingest::SourceKind::kRtspCamera || kind == ingest::SourceKind::kV4l2Camera;
}

void SetInput(const ingest::Extent& grid, StreamConfig& config) {
  config.source.width = config.learner.width = grid.width;
  config.source.height = config.learner.height = grid.height;
  config.input_is_set = true;
}

/// A source that waits for the model has no rate of its own: the stages run as fast as they can.
void SetRate(double camera, StreamConfig& config) {
  if (ingest::CanWait(config.source)) {
    config.learner.schedule = "one_f_one_b_star";
    // A small network of labels may have fewer layers than the kind auto has stages at most.
    if (IsOfLabels(config.task) && !config.stages_are_set) config.learner.stages = kUsualStages;
    return;
  }
  const double max_rate = config.source.max_frames_per_second;
  const double comes = camera > 0 ? camera : kUsualFrameRate;
  config.learner.frames_per_second = max_rate > 0 ? std::min(comes, max_rate) : comes;
  config.follows_camera = true;
}

/// Whether the running plan follows the camera to another rate.
bool FollowsRate(const StreamConfig& config) {
  const std::vector<std::string>& devices = config.learner.devices;
  const bool on_cpu =
      IsOfLabels(config.task) ||
      std::ranges::all_of(devices, [](const std::string& name) { return name == "cpu"; });
  return config.follows_camera && config.learner.replan_share > 0 && on_cpu;
}

bool SameFit(const StreamConfig& a, const StreamConfig& b) {
  const double rate = a.learner.frames_per_second;
  const bool same_rate = std::abs(b.learner.frames_per_second - rate) <= kSameRate * rate;
  return a.learner.width == b.learner.width && a.learner.height == b.learner.height &&
         (same_rate || FollowsRate(b));
}

/// `config` is the stream as written.
void WarnOfAssumed(const StreamConfig& config, const StreamConfig& fitted,
                   const absl::Status& cause) {
  const std::string shape =
      LeavesInput(config) ? absl::StrCat("a camera of 16:9 and ", kUsualFrameRate,
                                         " frames a second is assumed, and the model is made for ",
                                         fitted.learner.width, "x", fitted.learner.height)
                          : absl::StrCat(kUsualFrameRate, " frames a second are assumed");
  const LogAbout about(fitted.name);
  spdlog::warn(
      "stream '{}': {}. The start does not wait longer; the stream keeps trying. Until it shows a "
      "picture, {}",
      fitted.name, std::string(cause.message()), shape);
}

}  // namespace

ingest::SourceFacts UsualCamera() {
  constexpr ingest::Extent kPicture = {.width = 1920, .height = 1080};
  return {.picture = kPicture, .sent = kPicture, .frames_per_second = kUsualFrameRate};
}

ingest::SourceOptions ForProbe(ingest::SourceOptions source) {
  source.camera.connect_timeout =
      std::min<std::chrono::milliseconds>(source.camera.connect_timeout, kMaxProbe);
  return source;
}

bool LeavesToCamera(const StreamConfig& config) {
  const bool rate = LeavesRate(config) && !ingest::CanWait(config.source);
  return ingest::CanLook(config.source) && (LeavesInput(config) || rate);
}

StreamConfig FitTo(const ingest::SourceFacts& facts, StreamConfig config) {
  const auto network = pipeline::FlowNetworkInputOf(config.flow.network);
  const bool known = facts.picture.width > 0 && facts.picture.height > 0;
  if (LeavesInput(config) && known && network.ok()) {
    // A user's network may also halve its pictures.
    const int multiple = std::max(ingest::GridRules().size_multiple, network->size_multiple);
    SetInput(ingest::GridFor(facts.picture, {.size_multiple = multiple}), config);
  }
  if (LeavesRate(config)) SetRate(facts.frames_per_second, config);
  return config;
}

CameraFit::Seen CameraFit::Probe(const StreamConfig& config, const std::stop_token& stop) const {
  ingest::SourceOptions source = ForProbe(config.source);
  source.stream = config.name;
  source.stop = stop;
  return look_(source);
}

void CameraFit::LookAhead(const std::vector<StreamConfig>& streams, const std::stop_token& stop) {
  std::vector<std::jthread> looks;
  for (const StreamConfig& config : streams) {
    if (!LeavesToCamera(config)) continue;
    looks.emplace_back([this, &config, stop] {
      Seen seen = Caught([&] { return Probe(config, stop); }, "looking at a camera");
      const MutexLock lock(mu_);
      seen_.insert_or_assign(config.name, std::move(seen));
    });
  }
}

CameraFit::Seen CameraFit::LookOrRecall(const StreamConfig& config, const std::stop_token& stop) {
  {
    const MutexLock lock(mu_);
    if (auto found = seen_.extract(config.name)) return std::move(found.mapped());
  }
  return Probe(config, stop);
}

absl::StatusOr<FittedStream> CameraFit::Complete(const StreamConfig& config,
                                                 const std::stop_token& stop) {
  {
    const MutexLock lock(mu_);
    assumed_.erase(config.name);
  }
  if (!LeavesToCamera(config)) {
    // E.g. pushed frames: there is no camera, and the defaults apply.
    FittedStream complete = {.config = FitTo({}, config)};
    complete.config.input_is_set = true;
    return complete;
  }
  const Seen seen = LookOrRecall(config, stop);
  if (seen.ok()) {
    return FittedStream{.config = FitTo(*seen, config), .announced = seen->frames_per_second};
  }
  if (absl::IsCancelled(seen.status()) || !IsCamera(config.source)) return seen.status();
  FittedStream assumed = {.config = FitTo(UsualCamera(), config), .announced = kUsualFrameRate};
  WarnOfAssumed(config, assumed.config, seen.status());
  const MutexLock lock(mu_);
  assumed_.insert_or_assign(config.name, config);
  return assumed;
}

bool CameraFit::Assumed(const std::string& name) const {
  const MutexLock lock(mu_);
  return assumed_.contains(name);
}

std::optional<StreamConfig> CameraFit::Correct(const StreamConfig& now,
                                               const ingest::SourceFacts& facts) {
  std::optional<StreamConfig> written;
  {
    const MutexLock lock(mu_);
    if (auto found = assumed_.extract(now.name)) written = std::move(found.mapped());
  }
  if (!written) return std::nullopt;
  const StreamConfig as_made = FitTo(UsualCamera(), *written);
  // Meanwhile a change has kept the learner: it changed the source, the rate or the policy.
  if (written->effective != now.effective) written = now;
  StreamConfig fitted = FitTo(facts, *written);
  if (SameFit(as_made, fitted)) return std::nullopt;
  return fitted;
}

}  // namespace millrace::service
