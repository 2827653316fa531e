#include "service/console/serve_banner.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/plural.h"
#include "ingest/source/uri.h"
#include "service/console/progress.h"
#include "service/stream/plan_text.h"
#include "service/stream/weights_origin.h"
#include "service/terminal/terminal.h"

namespace millrace::service {
namespace {

constexpr std::string_view kIndent = "            ";

/// The last part of a file's path; other text is unchanged.
std::string ShortUri(const std::string& text) {
  const absl::StatusOr<ingest::Uri> uri = ingest::ParseUri(text);
  if (!uri.ok() || ingest::KindOf(*uri) != ingest::SourceKind::kFile) return text;
  const std::string last = std::filesystem::path(text).filename().string();
  return last.empty() ? text : last;  // A folder's path may end in a slash.
}

/// The limit that prevents learning from every frame; empty if there is no such limit.
std::string DescribeLimit(const pipeline::LearnerDescription& learner) {
  const bool all = learner.update_every == 1 && (!learner.rate_plan || learner.rate_plan->holds);
  if (all || !learner.rate_plan) return "";
  return absl::StrCat("  limit     ", learner.rate_plan->limit, "\n");
}

/// The origin of the model's initial weights.
std::string DescribeStart(const BannerStream& stream) {
  const pipeline::Resumption& resumption = stream.resumption;
  if (resumption.checkpoint.empty()) return DescribeOrigin(stream.config);
  const std::string& other = resumption.other_optimizer;
  return absl::StrCat(
      resumption.checkpoint, "\n", std::string(kIndent), "where it ended after ",
      Plural(resumption.first_sample, "frame"),
      other.empty()
          ? ""
          : absl::StrCat("; the optimizer's state is empty: the checkpoint has that of ", other));
}

std::string DescribeTask(const BannerStream& stream) {
  return absl::StrCat(
      stream.learner.labels ? DescribeLabels(stream.config) : DescribeFlow(stream.config),
      ", from ", DescribeStart(stream));
}

/// The devices, if the configuration names them.
std::string DescribeWhere(const pipeline::LearnerDescription& learner) {
  return learner.where.empty() ? "" : absl::StrCat("  on        ", learner.where, "\n");
}

/// The lower of two rates; 0 means no rate.
double LessOf(double a, double b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

/// The rate that exceeds the learning rate of frames: the camera's or the limit max_fps.
std::string DescribeTooMany(double camera, double limit) {
  return LessOf(camera, limit) == camera
             ? absl::StrFormat(" of the camera's %.4g", camera)
             : absl::StrFormat(" of the %.4g that max_fps lets through", limit);
}

/// The rate of a learner that can process `possible` frames a second; `come`: 0 if unknown.
double ExpectedRate(double possible, double come) {
  return come > 0 ? std::min(come, possible) : possible;
}

/// The plan, in terms of the method.
std::string DescribeMethod(const BannerStream& stream) {
  const pipeline::LearnerDescription& learner = stream.learner;
  std::string text =
      absl::StrCat("  plan      ", DescribePlan(learner),
                   " a frame, learning included\n  stages    ", DescribeStages(learner), "\n");
  if (learner.stages.size() > 1) {
    const double come = LessOf(stream.snapshot.source.camera_frames_per_second,
                               stream.config.source.max_frames_per_second);
    absl::StrAppendFormat(&text, "  alone     %.1f frames a second without the pipeline\n",
                          ExpectedRate(learner.sequential_samples_per_second, come));
  }
  std::vector<int> staleness;
  for (const pipeline::StageDescription& stage : learner.stages) {
    staleness.push_back(stage.staleness);
  }
  return absl::StrCat(text, "  staleness ", absl::StrJoin(staleness, " "), "\n");
}

std::string StreamBanner(const BannerStream& stream, bool verbose) {
  const pipeline::LearnerDescription& learner = stream.learner;
  return absl::StrCat("  learns    ", DescribeTask(stream), "\n", DescribeWhere(learner),
                      verbose ? DescribeMethod(stream) : "", "  expect    ",
                      DescribeExpectation(learner, stream.snapshot.source.camera_frames_per_second,
                                          stream.config.source.max_frames_per_second),
                      "\n", DescribeLimit(learner));
}

}  // namespace

std::string DescribeSource(const BannerStream& stream) {
  const ingest::SourceStatus& source = stream.snapshot.source;
  std::string text = ShortUri(stream.snapshot.uri);
  if (source.camera_width > 0) {
    absl::StrAppend(&text, ", ", source.camera_width, "x", source.camera_height);
  }
  if (source.camera_frames_per_second > 0) {
    absl::StrAppendFormat(&text, " at %.4g frames a second", source.camera_frames_per_second);
  }
  const ingest::SourceOptions& options = stream.config.source;
  if (options.loop) absl::StrAppend(&text, ", looped");
  if (options.as_camera) absl::StrAppend(&text, options.loop ? " as a camera" : ", as a camera");
  if (IsAway(source.state)) absl::StrAppend(&text, ", ", std::string(Name(source.state)));
  return text;
}

std::string DescribeFlow(const StreamConfig& config) {
  const pipeline::LearnerOptions& learner = config.learner;
  return absl::StrCat(config.flow.next_frame ? "the next frame" : "optical flow", " at ",
                      learner.width, "x", learner.height);
}

std::string DescribeLabels(const StreamConfig& config) {
  const pipeline::LabelTaskOptions& labels = config.labels;
  const bool classes = labels.task == pipeline::LabelTask::kClassification;
  const std::string network =
      labels.model.empty() ? absl::StrCat(labels.network, " of ", Plural(labels.layers, "layer"))
                           : labels.model;
  return absl::StrCat(
      classes ? absl::StrCat(labels.outputs, " classes") : Plural(labels.outputs, "value"),
      " from labels at ", config.learner.width, "x", config.learner.height,
      labels.grey ? " in grey, " : " in colour, ", network, ", window ", labels.window);
}

std::string DescribeStages(const pipeline::LearnerDescription& learner) {
  std::vector<std::string> stages;
  stages.reserve(learner.stages.size());
  for (const pipeline::StageDescription& stage : learner.stages) {
    const std::vector<std::string>& layers = stage.layers;
    stages.push_back(layers.size() < 3 ? absl::StrJoin(layers, ", ")
                                       : absl::StrCat(layers.front(), " to ", layers.back()));
  }
  const std::string line = absl::StrJoin(stages, " | ");
  return line.size() <= kProgressColumns - kIndent.size()
             ? line
             : absl::StrJoin(stages, absl::StrCat("\n", std::string(kIndent)));
}

std::string DescribeExpectation(const pipeline::LearnerDescription& learner,
                                double camera_frames_per_second, double max_frames_per_second) {
  const double come = LessOf(camera_frames_per_second, max_frames_per_second);
  const double plan = learner.samples_per_second;
  std::string text = absl::StrFormat("%.1f frames a second", ExpectedRate(plan, come));
  if (come > plan) {
    absl::StrAppend(&text, DescribeTooMany(camera_frames_per_second, max_frames_per_second));
  }
  absl::StrAppendFormat(&text, ", delay %.0f ms", learner.delay_ms);
  return absl::StrCat(text, DescribeEffort(learner), DescribeDrops(learner));
}

std::string Banner(std::span<const BannerStream> streams, const BannerAddresses& addresses,
                   const BannerOptions& options) {
  std::string text = absl::StrCat("millrace ", MILLRACE_VERSION);
  if (streams.size() == 1) {
    absl::StrAppend(&text, "   ", DescribeSource(streams.front()), "\n",
                    StreamBanner(streams.front(), options.verbose));
  } else {
    absl::StrAppend(&text, "   ", Plural(streams.size(), "stream"), "\n");
    for (const BannerStream& stream : streams) {
      absl::StrAppend(&text, stream.config.name, "   ", DescribeSource(stream), "\n",
                      StreamBanner(stream, options.verbose));
    }
  }
  absl::StrAppend(&text, "  open      ", addresses.page, "     gRPC ", addresses.grpc,
                  "     metrics ", addresses.metrics, "\n");
  return options.columns > 0 ? Hanging(text, options.columns, kIndent.size()) : text;
}

}  // namespace millrace::service
