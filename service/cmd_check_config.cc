#include "service/cmd_check_config.h"

#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ingest/image_folder.h"
#include "ingest/uri.h"
#include "pipeline/learning/flow_network_names.h"
#include "service/cli_exit_codes.h"
#include "service/config_labels.h"
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

constexpr std::string_view kRelative = " (paths are relative to the working folder)\n";

/// Why there is nothing to read for the source, or nothing.
std::string MissingVideo(const StreamConfig& stream) {
  const std::optional<std::string> file = SourceFile(stream.source.uri);
  if (!file) return "";
  if (ingest::NamesImages(*file)) {
    const absl::Status images = ingest::ListImages(*file).status();
    return images.ok() ? "" : absl::StrCat(*file, ": ", std::string(images.message()));
  }
  std::error_code error;
  return std::filesystem::exists(*file, error) ? "" : absl::StrCat("there is no video ", *file);
}

/// The other files that the stream reads at its start, and what each is; some paths are empty.
std::vector<std::pair<std::string_view, std::string>> FilesOf(const StreamConfig& stream) {
  const std::string& network = stream.learner.network;
  const bool own = !IsOfLabels(stream.task) && pipeline::IsNetworkFile(network);
  const ingest::CameraOptions& camera = stream.source.camera;
  return {{"network", IsOfLabels(stream.task) ? stream.labels.learner.model
                      : own                   ? network
                                              : ""},
          {"weight file", WeightsOf(stream)},
          {"password file", camera.login.password_file},
          {"file of certificates", camera.tls.ca_file}};
}

/// Names the files that the configuration needs and that are not there, one a line.
std::string MissingFiles(const Config& config) {
  std::string missing;
  const auto add = [&](const StreamConfig& stream, std::string_view what) {
    absl::StrAppend(&missing, "stream ", stream.name, ": ", std::string(what),
                    std::string(kRelative));
  };
  for (const StreamConfig& stream : config.streams) {
    if (const std::string video = MissingVideo(stream); !video.empty()) add(stream, video);
    for (const auto& [what, path] : FilesOf(stream)) {
      std::error_code error;
      if (path.empty() || std::filesystem::exists(path, error)) continue;
      add(stream, absl::StrCat("there is no ", std::string(what), " ", path));
    }
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
  // What is printed may be kept in another folder.
  const absl::StatusOr<Config> config = LoadConfig(
      arguments.print ? std::filesystem::absolute(arguments.config).string() : arguments.config);
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
