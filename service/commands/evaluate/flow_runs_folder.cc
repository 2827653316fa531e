#include "service/commands/evaluate/flow_runs_folder.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/regular_file.h"
#include "pipeline/checkpoint/checksum.h"
#include "pipeline/learner/flow_network_names.h"

namespace nlohmann {

template <typename T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& json, const std::optional<T>& value) {
    json = value ? nlohmann::json(*value) : nlohmann::json();
  }
  static void from_json(const json& json, std::optional<T>& value) {
    value = json.is_null() ? std::optional<T>() : json.get<T>();
  }
};

template <>
struct adl_serializer<std::chrono::nanoseconds> {
  static void to_json(json& json, std::chrono::nanoseconds value) { json = value.count(); }
  static void from_json(const json& json, std::chrono::nanoseconds& value) {
    value = std::chrono::nanoseconds(json.get<std::int64_t>());
  }
};

template <>
struct adl_serializer<millrace::pipeline::PixelMean> {
  static void to_json(json& json, const millrace::pipeline::PixelMean& mean) {
    json = {mean.sum(), mean.count()};
  }
  static void from_json(const json& json, millrace::pipeline::PixelMean& mean) {
    mean = {json.at(0).get<double>(), json.at(1).get<std::int64_t>()};
  }
};

}  // namespace nlohmann

namespace millrace::pipeline {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StageCost, forward, backward, update, copy, weight_gradient)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizerOptions, kind, learning_rate, momentum, nesterov,
                                   weight_decay, beta1, beta2, eps, clip_norm, clip_update,
                                   pipemare_steps, spike_compensation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowRunName, network, schedule, stages, optimizer, camera_rate,
                                   seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScoreSummary, predictions, learned_from, loss, loss_no_motion,
                                   loss_deviation, loss_p10, loss_p90, loss_reference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MotionCounts, both, predicted_only, true_only)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowScores, error, error_visible, error_hidden, error_slow,
                                   error_medium, error_fast, outlier, angle, ause, uncertainty,
                                   motion, reconstructed, reconstructed_closely)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StreamScores, loss, flow)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(WindowScores, start, scores)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ScoredStream, whole, windows)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowRunResult::Frozen, name, scores, other, initial, right_after)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StageDescription, layers, device, forward_ms, backward_ms,
                                   update_ms, staleness, mismatch)
// Checkpoints are not made here.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LearningFigures, roll_backs, drifts, gradients_not_finite,
                                   rate_scale)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowRunResult, pairs, dropped, model, streaming, frozen, updates,
                                   update_cosines, learning, stages)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowEvaluation::Run, name, optimizer, cuts, costs, switch_at,
                                   result)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FlowEvaluation::Reference, name, clip, scores, losses)

}  // namespace millrace::pipeline

namespace millrace::service {
namespace {

using nlohmann::json;
using pipeline::FlowEvaluation;
namespace fs = std::filesystem;

constexpr std::uint64_t kMaxResultBytes = std::uint64_t{1} << 30;

std::string TextOf(const json& value) {
  // File names may be invalid UTF-8.
  return value.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

// null if the file cannot be read.
json ChecksumOfFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string part(std::size_t{1} << 20, '\0');
  std::string checksum;
  while (file) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    const std::string_view read(part.data(), static_cast<std::size_t>(file.gcount()));
    checksum = pipeline::Checksum(absl::StrCat(checksum, pipeline::Checksum(read)));
  }
  return file.eof() ? json(checksum) : json();
}

json StampOfFile(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  const auto changed = fs::last_write_time(path, error).time_since_epoch().count();
  return {path.string(), size, changed};
}

// Changes when the file, or a file of the folder, gets another size or time. null if it is neither.
json StampOf(const std::string& path) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) return StampOfFile(path);
  if (!fs::is_directory(path, error)) return {};
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) files.push_back(TextOf(StampOfFile(entry.path())));
  }
  std::ranges::sort(files);
  return {path, files.size(), pipeline::Checksum(TextOf(files))};
}

// Of inputs as the command line names them.
json StampsOf(const std::vector<std::string>& inputs) {
  json stamps = json::array();
  for (const std::string& input : inputs) {
    const bool is_file = !input.empty() && input != "generated";
    stamps.push_back(is_file ? StampOf(input) : json(input));
  }
  return stamps;
}

bool IsKnown(const json& stamp) {
  if (!stamp.is_array()) return !stamp.is_null();
  return std::ranges::none_of(stamp, [](const json& entry) { return entry.is_null(); });
}

json CommonKey(const EvaluateFlowArguments& arguments) {
  const pipeline::FlowEvaluationOptions& options = arguments.options;
  json key = {{"program", ChecksumOfFile("/proc/self/exe")},
              {"inputs", StampsOf({arguments.input, arguments.truth, arguments.hidden})},
              {"size", {options.clips.front().width, options.clips.front().height}},
              {"pairs", arguments.pairs},
              {"speed", arguments.speed},
              {"frames_per_second", arguments.frames_per_second},
              {"pseudo_truth", arguments.pseudo_truth},
              {"task", arguments.task},
              {"window_s", arguments.window_s}};
  return key;
}

}  // namespace

FlowRunsFolder::FlowRunsFolder(std::string folder, const EvaluateFlowArguments& arguments)
    : folder_(std::move(folder)), options_(arguments.options), common_(CommonKey(arguments)) {
  for (const std::string& path : options_.weights) weights_.push_back(ChecksumOfFile(path));
  json others = StampsOf(arguments.others);
  is_known_ = IsKnown(common_["program"]) && IsKnown(common_["inputs"]) && IsKnown(others) &&
              IsKnown(json(weights_));
  for (const pipeline::ClipSource& clip : options_.others) others.push_back(clip.name);
  common_["runs"] = {{"frozen", options_.frozen},
                     {"others", options_.frozen ? std::move(others) : json()},
                     {"loss", options_.task.loss.kind},
                     {"occlusion", options_.task.loss.occlusion},
                     {"switch_at", options_.switch_at},
                     {"real_time", options_.real_time},
                     {"step_ms", options_.step_ms},
                     {"spread", options_.spread},
                     {"gain", std::ranges::count(options_.references, "dis") > 0}};
}

json FlowRunsFolder::KeyOf(const std::string& name, std::size_t clip) const {
  json key = common_;
  key.erase("runs");
  key["reference"] = name;
  key["clip"] = options_.clips[clip].name;
  return key;
}

json FlowRunsFolder::KeyOf(const pipeline::FlowRunName& name) const {
  json key = common_;
  key["name"] = name;
  if (pipeline::IsNetworkFile(name.network)) key["network"] = ChecksumOfFile(name.network);
  key["smoothness"] = options_.SmoothnessOf(name.network);
  key["optimizer"] = options_.learner.optimizer;
  for (const auto& named : options_.optimizers) {
    if (named.name == name.optimizer) key["optimizer"] = named.optimizer;
  }
  const auto seed = std::ranges::find(options_.seeds, name.seed) - options_.seeds.begin();
  key["clip"] = options_.clips[options_.clips.size() > 1 ? seed : 0].name;
  if (!weights_.empty()) key["weights"] = weights_[weights_.size() > 1 ? seed : 0];
  return key;
}

std::string FlowRunsFolder::PathOf(const std::string& title, const json& key) const {
  std::string file = title;
  for (char& c : file) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != ':') c = '_';
  }
  constexpr std::size_t kMaxTitle = 150;  // A file's name has at most 255 bytes.
  return absl::StrCat(folder_, "/", file.substr(0, kMaxTitle), "-", pipeline::Checksum(TextOf(key)),
                      ".json");
}

template <typename Result>
std::optional<Result> FlowRunsFolder::Find(const std::string& title, const json& key) const {
  if (!is_known_) return std::nullopt;
  const absl::StatusOr<std::string> content = ReadFile(PathOf(title, key), kMaxResultBytes);
  if (!content.ok()) return std::nullopt;
  try {
    const json file = json::parse(*content);
    if (TextOf(file.at("of")) != TextOf(key)) return std::nullopt;
    auto result = file.at("result").get<Result>();
    ++found_;
    return result;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

absl::Status FlowRunsFolder::Write(const std::string& title, const json& key,
                                   const json& result) const {
  if (!is_known_) return absl::OkStatus();
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder_, ": ", error.message()));
  return WriteFileAtomically(PathOf(title, key), TextOf({{"of", key}, {"result", result}}) + "\n");
}

std::optional<FlowEvaluation::Reference> FlowRunsFolder::FindReference(const std::string& name,
                                                                       std::size_t clip) const {
  auto found = Find<FlowEvaluation::Reference>(name, KeyOf(name, clip));
  if (found) found->clip = clip;
  return found;
}

std::optional<FlowEvaluation::Run> FlowRunsFolder::FindRun(
    const pipeline::FlowRunName& name) const {
  return Find<FlowEvaluation::Run>(name.Text(), KeyOf(name));
}

absl::Status FlowRunsFolder::Keep(const FlowEvaluation::Reference& reference) {
  return Write(reference.name, KeyOf(reference.name, reference.clip), reference);
}

absl::Status FlowRunsFolder::Keep(const FlowEvaluation::Run& run) {
  return Write(run.name.Text(), KeyOf(run.name), run);
}

}  // namespace millrace::service
