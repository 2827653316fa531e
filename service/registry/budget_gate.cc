#include "service/registry/budget_gate.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/log_about.h"
#include "pipeline/learner/flow_network_names.h"
#include "spdlog/spdlog.h"

namespace millrace::service {
namespace {

/// The camera's announced rate; 0 while unknown.
double RateOf(const ServedStream& served) {
  return served.stream->Snapshot().source.camera_frames_per_second;
}

StreamLoad LoadOf(const ServedStream& served) {
  return LoadOf(served.config(), *served.learner_as_made, RateOf(served));
}

/// Whether both sources have the same frame rate, before max_fps.
bool SameCamera(const ingest::SourceOptions& source, const ingest::SourceOptions& other) {
  return ingest::WithoutCredentials(source.uri) == ingest::WithoutCredentials(other.uri) &&
         source.test_frames_per_second == other.test_frames_per_second &&
         source.images_per_second == other.images_per_second;
}

/// An equal entry is not enough, because the defaults for all streams may have changed.
bool AsItWas(const StreamConfig& before, const StreamConfig& now) {
  return before.entry == now.entry && before.effective == now.effective;
}

/// Whether the stream starts even if it exceeds the budget.
bool OnlyWarns(const StreamConfig& config, const Budget& budget) {
  return config.of_file && !budget.is_set();
}

/// Whether `load` exceeds `than` on no device.
bool TakesNoMore(const StreamLoad& load, const StreamLoad& than) {
  return std::ranges::all_of(load.devices, [&than](const auto& device) {
    const auto found = than.devices.find(device.first);
    return found != than.devices.end() && device.second <= found->second;
  });
}

constexpr double kBytesPerGb = 1e9;
/// Memory to load a user's own network, as a multiple of the file's size. It covers the bytes of
/// the file, its checked tensors, and the network's tensors.
constexpr double kCopiesToLoad = 3;

/// The memory that an incarnation of the stream holds; 0 without one.
double HeldBy(const absl::StatusOr<SharedStream>& served) {
  return served.ok() && (*served)->memory != nullptr ? (*served)->memory->bytes : 0;
}

}  // namespace

double MemoryBytesOf(const Budget& budget) {
  return budget.memory_gb ? *budget.memory_gb * kBytesPerGb : UsableMemoryBytes();
}

double MemoryToLoad(const StreamConfig& config) {
  const std::string& file = IsOfLabels(config.task) ? config.labels.model : config.flow.network;
  if (!pipeline::IsNetworkFile(file)) return 0;
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file, error);
  return error ? 0 : kCopiesToLoad * static_cast<double>(bytes);
}

absl::StatusOr<HeldMemory> BudgetGate::HoldMemory(const StreamConfig& config, double bytes) {
  const MemoryShare share{.stream = config.name, .bytes = bytes};
  if (bytes <= HeldBy(streams_.Find(config.name))) return memory_.TakeAnyway(share);
  const Budget budget = CurrentBudget();
  absl::StatusOr<HeldMemory> held = memory_.Take(share, MemoryBytesOf(budget));
  if (held.ok() || !config.of_file || budget.is_set()) return held;
  const LogAbout about(config.name);
  spdlog::warn("{}", std::string(held.status().message()));
  return memory_.TakeAnyway(share);
}

Budget BudgetGate::CurrentBudget() const {
  const MutexLock lock(mu_);
  return budget_;
}

void BudgetGate::SetBudget(const Budget& budget) {
  const MutexLock lock(mu_);
  budget_ = budget;
}

void BudgetGate::Hold(const std::string& stream) {
  const absl::StatusOr<SharedStream> served = streams_.Find(stream);
  if (!served.ok() || !(*served)->stream->running()) return;
  StreamLoad load = LoadOf(**served);
  const MutexLock lock(mu_);
  held_[stream] = std::move(load);
}

void BudgetGate::Release(const std::string& stream) {
  const MutexLock lock(mu_);
  held_.erase(stream);
  ++released_;
}

std::uint64_t BudgetGate::released() const {
  const MutexLock lock(mu_);
  return released_;
}

std::optional<double> BudgetGate::KnownRateOf(const ingest::SourceOptions& source) const {
  for (const SharedStream& served : streams_.All()) {
    if (SameCamera(source, served->config().source)) return RateOf(*served);
  }
  return std::nullopt;
}

BudgetGate::Loads BudgetGate::RunningBeside(const std::string& stream) const {
  Loads loads;
  for (const SharedStream& served : streams_.All()) {
    const std::string name = served->config().name;
    if (name != stream && served->stream->running()) loads.try_emplace(name, LoadOf(*served));
  }
  return loads;
}

// A running stream whose change is under way counts with the larger load, because the change may
// still fail.
std::vector<StreamLoad> BudgetGate::WithHeld(Loads running, const std::string& stream) const {
  for (const auto& [name, held] : held_) {
    if (name == stream) continue;
    StreamLoad& counted = running.try_emplace(name, held).first->second;
    for (const auto& [device, share] : held.devices) {
      counted.devices[device] = std::max(counted.devices[device], share);
    }
  }
  std::vector<StreamLoad> loads;
  for (auto& [name, load] : running) loads.push_back(std::move(load));
  return loads;
}

bool BudgetGate::HasOthers(const std::string& stream) const {
  for (const SharedStream& served : streams_.All()) {
    if (served->config().name != stream && served->stream->running()) return true;
  }
  const MutexLock lock(mu_);
  return held_.size() > held_.count(stream);
}

bool BudgetGate::IsNoNews(const StreamConfig& config, const StreamLoad& load) const {
  const absl::StatusOr<SharedStream> before = streams_.Find(config.name);
  if (!before.ok()) return false;
  return AsItWas((*before)->config(), config) || TakesNoMore(load, LoadOf(**before));
}

bool BudgetGate::RateMatters(const StreamConfig& config) const {
  if (config.learner.frames_per_second != 0) return false;
  const absl::StatusOr<SharedStream> before = streams_.Find(config.name);
  if (before.ok() && AsItWas((*before)->config(), config)) return false;
  return !OnlyWarns(config, CurrentBudget()) && HasOthers(config.name);
}

// Cameras and streams are read without the lock. A change that ends meanwhile may be missing from
// both the running and the held loads. So the loads are read again.
absl::Status BudgetGate::Admit(const StreamConfig& config,
                               const pipeline::LearnerDescription& learner,
                               std::optional<double> announced, const std::stop_token& stop) {
  if (!announced) announced = KnownRateOf(config.source);
  if (!announced && RateMatters(config)) {
    ingest::SourceOptions source = config.source;
    source.stop = stop;
    announced = announced_(source);
  }
  StreamLoad load = LoadOf(config, learner, announced.value_or(0));
  const bool no_news = IsNoNews(config, load);
  absl::Status fits;
  while (true) {
    const std::uint64_t before = released();
    Loads running = RunningBeside(config.name);
    const MutexLock lock(mu_);
    if (released_ != before) continue;
    if (!no_news) fits = Fits(load, WithHeld(std::move(running), config.name), budget_);
    if (!fits.ok() && !OnlyWarns(config, budget_)) return fits;
    held_[config.name] = std::move(load);
    break;
  }
  if (fits.ok()) return fits;
  const LogAbout about(config.name);
  spdlog::warn("stream '{}': {}", config.name, std::string(fits.message()));
  return absl::OkStatus();
}

}  // namespace millrace::service
