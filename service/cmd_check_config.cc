#include "service/cmd_check_config.h"

#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ingest/image_folder.h"
#include "ingest/uri.h"
#include "service/cli_exit_codes.h"
#include "service/config_print.h"
#include "service/grpc_server.h"
#include "service/http_server.h"
#include "service/serve_banner.h"

namespace millrace::service {
namespace {

/// The file that the source reads, or nullopt where it is a camera or a test picture.
std::optional<std::string> SourceFile(const std::string& text) {
  const absl::StatusOr<ingest::Uri> uri = ingest::ParseUri(text);
  if (!uri.ok() || ingest::KindOf(*uri) != ingest::SourceKind::kFile) return std::nullopt;
  const absl::StatusOr<std::string> path = ingest::FilePath(*uri);
  return path.ok() ? std::optional(*path) : std::nullopt;
}

/// Names the files that the configuration needs and that are not there, one a line.
std::string MissingFiles(const Config& config) {
  std::string missing;
  const auto check = [&](const StreamConfig& stream, std::string_view what,
                         const std::string& path) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) return;
    absl::StrAppend(&missing, "stream ", stream.name, ": there is no ", std::string(what), " ",
                    path, " (paths are relative to the working folder)\n");
  };
  for (const StreamConfig& stream : config.streams) {
    if (const auto file = SourceFile(stream.source.uri)) {
      if (ingest::NamesImages(*file)) {
        const absl::Status images = ingest::ListImages(*file).status();
        if (!images.ok()) {
          absl::StrAppend(&missing, "stream ", stream.name, ": ", *file, ": ", images.message(),
                          " (paths are relative to the working folder)\n");
        }
      } else {
        check(stream, "video", *file);
      }
    }
    const std::string& model = stream.labels.learner.model;
    if (IsOfLabels(stream.task) && !model.empty()) check(stream, "network", model);
    if (!stream.learner.weights.empty()) check(stream, "weight file", stream.learner.weights);
  }
  return missing;
}

std::string DescribeTask(const StreamConfig& stream) {
  if (IsOfLabels(stream.task)) return DescribeLabels(stream);
  const pipeline::FlowLearnerOptions& learner = stream.learner;
  return absl::StrCat(DescribeFlow(stream), ", from ",
                      learner.weights.empty() ? "random weights" : learner.weights);
}

std::string DescribeStream(const StreamConfig& stream) {
  const ingest::SourceOptions& source = stream.source;
  const pipeline::FlowLearnerOptions& learner = stream.learner;
  return absl::StrCat(
      stream.name, "\n  source    ", ingest::WithoutCredentials(source.uri),
      source.loop ? ", looped" : "", source.as_camera ? ", as a camera" : "", "\n  learns    ",
      DescribeTask(stream), ", learning rate ", learner.learning_rate, "\n  plan      ",
      learner.schedule, ", ", learner.stages, learner.stages == 1 ? " stage" : " stages",
      learner.cuts.empty() ? ", cut by measured cost" : ", cut as configured",
      learner.devices.empty() ? "" : ", on ", absl::StrJoin(learner.devices, ", "), "\n");
}

std::string DescribeListen(const Listen& listen) {
  const std::string web = UrlHost(listen.web_address());
  const std::string for_whom =
      IsLoopback(listen.web_address()) ? "this machine only" : "whoever reaches it";
  return absl::StrCat("listens\n  gRPC      ", UrlHost(listen.address), ":", listen.grpc_port, ", ",
                      Describe(listen.security), "\n  page      ", web, ":", listen.http_port,
                      ", plain text for ", for_whom, ", at most ", listen.max_viewers,
                      " viewers\n  metrics   ", web, ":", listen.metrics_port, ", plain text for ",
                      for_whom, "\n");
}

}  // namespace

std::string DescribeConfig(const Config& config) {
  std::string text;
  for (const StreamConfig& stream : config.streams) text += DescribeStream(stream);
  return text + DescribeListen(config.listen);
}

int RunCheckConfig(const CheckConfigArguments& arguments) {
  if (arguments.schema) {
    std::cout << ConfigJsonSchema();
    return kExitOk;
  }
  const absl::StatusOr<Config> config = LoadConfig(arguments.config);
  if (!config.ok()) {
    std::cerr << config.status().message() << "\n";
    return kExitUsage;
  }
  if (const std::string missing = MissingFiles(*config); !missing.empty()) {
    std::cerr << missing;
    return kExitUsage;
  }
  if (const absl::Status files = GrpcServer::Check(config->listen.security); !files.ok()) {
    std::cerr << files.message() << "\n";
    return kExitUsage;
  }
  if (arguments.print) {
    std::cout << "# All that holds with " << arguments.config << ".\n" << PrintConfig(*config);
  } else {
    std::cout << arguments.config << ": OK\n" << DescribeConfig(*config);
  }
  return kExitOk;
}

}  // namespace millrace::service
