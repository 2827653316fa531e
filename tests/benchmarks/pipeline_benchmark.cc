// The pipeline's gain: predictions a second with two stages against one, on the same machine in the
// same run, with the network, the input size and the weights of `make run`.
//
//   pipeline_benchmark CONFIGURATION [JSON_FILE]
//
// All learners live from start to end and take turns. Each turn begins with a few samples that fill
// the pipeline and do not count. Pictures come from memory, without cameras and clients.
#include <sys/resource.h>

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/status.h"
#include "ingest/inputs/open_source.h"
#include "ingest/source/source.h"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/learner/learner.h"
#include "service/config/config.h"
#include "tests/benchmarks/report.h"

namespace millrace::benchmarks {
namespace {

using pipeline::FlowTaskOptions;
using pipeline::LearnerOptions;

constexpr int kTurns = 9;
constexpr int kPictures = 64;
constexpr std::int64_t kWarmUp = 6;
constexpr std::int64_t kCounted = 30;

struct Contender {
  std::string name;
  std::string schedule;
  int stages;
  int threads_per_stage;
};

/// The first is the baseline.
const std::vector<Contender> kContenders = {
    {"1 stage, 1 thread", "sequential", 1, 1},
    {"1 stage, LibTorch's own 2 threads", "sequential", 1, 2},
    {"2 stages, 1 thread each", "one_f_one_b_star", 2, 1},
    {"2 stages, 1 thread each", "partime", 2, 1}};

struct Moment {
  std::chrono::steady_clock::time_point time;
  double cpu_seconds;
};

Moment Now() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return double(t.tv_sec) + double(t.tv_usec) / 1e6; };
  return {std::chrono::steady_clock::now(), seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

/// The moment of each prediction. Thread-safe.
class PredictionLog {
 public:
  void Add() {
    {
      MutexLock lock(mu_);
      moments_.push_back(Now());
    }
    added_.notify_all();
  }

  /// Waits until there are more than `index`, and returns that one.
  Moment At(std::int64_t index) {
    MutexLock lock(mu_);
    while (static_cast<std::int64_t>(moments_.size()) <= index) added_.wait(mu_);
    return moments_[index];
  }

 private:
  Mutex mu_;
  CondVar added_;
  std::vector<Moment> moments_ ABSL_GUARDED_BY(mu_);
};

struct Turn {
  double predictions_per_second;
  double cpu_ms_per_prediction;
};

/// A learner that takes turns with others. For one thread.
class Runner {
 public:
  static absl::StatusOr<std::unique_ptr<Runner>> Make(LearnerOptions options,
                                                      const FlowTaskOptions& task,
                                                      const Contender& contender) {
    options.schedule = contender.schedule;
    options.stages = contender.stages;
    options.threads_per_stage = contender.threads_per_stage;
    options.cuts = {};
    auto runner = std::make_unique<Runner>();
    MILLRACE_ASSIGN_OR_RETURN(
        runner->learner_,
        pipeline::MakeFlowLearner(
            options, task,
            [log = &runner->log_](const pipeline::ModelPrediction&) { log->Add(); }));
    return runner;
  }

  /// Learns from kWarmUp + kCounted samples, and waits for their predictions.
  absl::StatusOr<Turn> Take(const std::vector<std::shared_ptr<const ingest::Picture>>& pictures) {
    std::int64_t admitted = 0;
    for (std::int64_t i = 0; i < kWarmUp + kCounted; ++i) {
      const std::size_t place = i % (pictures.size() - 1);
      MILLRACE_ASSIGN_OR_RETURN(admitted, learner_->Admit({.previous = pictures[place]->rgb,
                                                           .current = pictures[place + 1]->rgb}));
    }
    const Moment end = log_.At(admitted);
    const Moment start = log_.At(admitted - kCounted);
    const double seconds = std::chrono::duration<double>(end.time - start.time).count();
    return Turn{kCounted / seconds, 1e3 * (end.cpu_seconds - start.cpu_seconds) / kCounted};
  }

  [[nodiscard]] std::string cuts() const {
    std::vector<std::string> stages;
    const auto description = learner_->description();
    for (const pipeline::StageDescription& stage : description->stages) {
      stages.push_back(absl::StrJoin(stage.layers, ", "));
    }
    return absl::StrJoin(stages, " / ");
  }

 private:
  PredictionLog log_;
  std::unique_ptr<pipeline::Learner> learner_;
};

absl::StatusOr<std::vector<std::shared_ptr<const ingest::Picture>>> ReadPictures(
    ingest::SourceOptions options) {
  options.as_camera = false;
  MILLRACE_ASSIGN_OR_RETURN(const std::unique_ptr<ingest::Source> source,
                            ingest::OpenSource(options));
  std::vector<std::shared_ptr<const ingest::Picture>> pictures;
  while (pictures.size() < kPictures) {
    std::optional<ingest::Frame> frame = source->queue().Pop();
    if (!frame.has_value()) return absl::OutOfRangeError("the video has too few frames");
    pictures.push_back(frame->picture);
  }
  return pictures;
}

struct Results {
  std::vector<double> rate;
  std::vector<double> cpu_ms;
};

void Show(const std::vector<std::unique_ptr<Runner>>& runners, const std::vector<Results>& results,
          const LearnerOptions& options, nlohmann::json& json) {
  std::vector<std::vector<std::string>> table = {{"network", "schedule", "predictions a second",
                                                  "ratio to the first", "CPU ms a prediction",
                                                  "cut"}};
  for (std::size_t i = 0; i < kContenders.size(); ++i) {
    const Contender& contender = kContenders[i];
    const Spread rate = SpreadOf(results[i].rate);
    const Spread ratio = RatioOf(results[i].rate, results.front().rate);
    const Spread cpu_ms = SpreadOf(results[i].cpu_ms);
    table.push_back({contender.name, contender.schedule, Text(rate, 2), Text(ratio, 2),
                     absl::StrFormat("%.0f", cpu_ms.median), runners[i]->cuts()});
    json.push_back({{"schedule", contender.schedule},
                    {"stages", contender.stages},
                    {"threads_per_stage", contender.threads_per_stage},
                    {"cuts", runners[i]->cuts()},
                    {"predictions_per_second", Json(rate)},
                    {"ratio", Json(ratio)},
                    {"cpu_ms_per_prediction", Json(cpu_ms)}});
  }
  std::cout << "The pipeline at " << options.width << "x" << options.height << ", median (least to "
            << "greatest) of " << kTurns << " turns of " << kCounted << " predictions\n\n"
            << MarkdownTable(table) << std::endl;
}

absl::Status Measure(const std::string& configuration, nlohmann::json& json) {
  MILLRACE_ASSIGN_OR_RETURN(const service::Config config, service::LoadConfig(configuration));
  const service::StreamConfig& stream = config.streams.front();
  MILLRACE_ASSIGN_OR_RETURN(const auto pictures, ReadPictures(stream.source));
  std::vector<std::unique_ptr<Runner>> runners;
  for (const Contender& contender : kContenders) {
    MILLRACE_ASSIGN_OR_RETURN(runners.emplace_back(),
                              Runner::Make(stream.learner, stream.flow, contender));
  }
  std::vector<Results> results(runners.size());
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < runners.size(); ++i) {
      MILLRACE_ASSIGN_OR_RETURN(const Turn taken, runners[i]->Take(pictures));
      results[i].rate.push_back(taken.predictions_per_second);
      results[i].cpu_ms.push_back(taken.cpu_ms_per_prediction);
    }
  }
  Show(runners, results, stream.learner, json);
  return absl::OkStatus();
}

int Run(const std::string& configuration, const std::string& json_file) {
  std::cout << "At the start: " << Conditions() << "\n\n";
  nlohmann::json json = nlohmann::json::array();
  if (const absl::Status status = Measure(configuration, json); !status.ok()) {
    std::cerr << status.message() << "\n";
    return 1;
  }
  return WriteResult(json_file, json);
}

}  // namespace
}  // namespace millrace::benchmarks

int main(int argc, char** argv) try {
  if (argc == 3) return millrace::benchmarks::Run(argv[1], argv[2]);
  std::cerr << "usage: pipeline_benchmark CONFIGURATION JSON_FILE\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
