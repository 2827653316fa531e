#include "service/commands/init_command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "ingest/inputs/look.h"
#include "ingest/source/uri.h"
#include "nlohmann/json.hpp"
#include "pipeline/flow/flow_learner.h"
#include "pipeline/learner/learner.h"
#include "service/config/config.h"
#include "service/console/serve_banner.h"
#include "service/server/camera_fit.h"
#include "service/terminal/cli_exit_codes.h"

namespace millrace::service {
namespace {

constexpr char kFooter[] = R"(
It connects to the camera and writes a configuration of five lines. It prints the size at which
this machine will learn the camera's motion, and the expected frame rate and delay. All other
values are defaults, which `millrace check-config --print` shows.
share/millrace/millrace.yaml explains every key.

If the camera shows no picture, it prints the cause and writes no file. Only its owner can read a
file with a password. In a password write /, ?, # and % as %2F, %3F, %23 and %25. Put the URI in
quotes: & and ? have a meaning for shells.

Examples
  millrace init 'rtsp://user:password@camera.local/stream1'
  millrace init rtsp://10.0.0.8/h264 --name gate --output gate.yaml
  millrace init v4l2:/dev/video0)";

/// `text` as a YAML value: unquoted if that is safe.
std::string InYaml(const std::string& text) {
  constexpr std::string_view kPlain = "_-./:@%?&=+,~";
  const bool plain = !text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0])) &&
                     text.back() != ':' && std::ranges::all_of(text, [&](unsigned char c) {
                       return absl::ascii_isalnum(c) ||
                              kPlain.find(static_cast<char>(c)) != std::string_view::npos;
                     });
  if (plain && text.find(':') != std::string::npos) return text;
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Makes a relative path valid from the configuration file's folder.
std::string UriInFile(const InitArguments& arguments) {
  const auto uri = ingest::ParseUri(arguments.uri);
  const bool file = uri.ok() && ingest::KindOf(*uri) == ingest::SourceKind::kFile;
  const bool elsewhere = std::filesystem::path(arguments.output).has_parent_path();
  if (!file || !elsewhere || uri->rest.starts_with('/')) return arguments.uri;
  const std::filesystem::path here = std::filesystem::current_path();
  if (uri->scheme.empty()) return (here / uri->rest).lexically_normal().string();
  // uri->rest is percent-encoded already.
  return absl::StrCat("file://", absl::StrReplaceAll(here.string(), {{"%", "%25"}}), "/",
                      uri->rest);
}

/// Removes the places from the errors: the file does not exist yet, so they mean nothing to the
/// user.
std::string WithoutPlaces(const std::string& errors, const std::string& file) {
  std::vector<std::string> lines = absl::StrSplit(errors, '\n');
  for (std::string& line : lines) {
    const std::size_t end = line.find(": ", file.size());
    if (line.starts_with(file) && end != std::string::npos) line = line.substr(end + 2);
  }
  return absl::StrJoin(lines, "\n");
}

absl::StatusOr<StreamConfig> StreamOf(const InitArguments& arguments, const std::string& text) {
  const absl::StatusOr<Config> config = ParseConfig(text, arguments.output);
  if (config.ok()) return config->streams.front();
  return absl::InvalidArgumentError(
      WithoutPlaces(std::string(config.status().message()), arguments.output));
}

bool HoldsPassword(const std::string& uri) { return ingest::WithoutCredentials(uri) != uri; }

absl::Status AlreadyThere(const std::string& path) {
  return absl::AlreadyExistsError(absl::StrCat(
      path,
      " exists and was not changed: name another file with --output, or replace it with --force"));
}

absl::Status CannotWrite(const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat(path, ": cannot be written: ", std::generic_category().message(errno)));
}

std::string Described(const ingest::SourceFacts& facts) {
  std::string text = absl::StrCat(facts.picture.width, "x", facts.picture.height);
  if (facts.sent != facts.picture) {
    absl::StrAppend(&text, " (sent as ", facts.sent.width, "x", facts.sent.height, ")");
  }
  if (facts.frames_per_second > 0) {
    absl::StrAppendFormat(&text, " at %.4g frames a second", facts.frames_per_second);
  }
  if (!facts.codec.empty()) absl::StrAppend(&text, ", ", facts.codec);
  return text;
}

/// Reports the expected rate for the camera on this machine, from the measured costs of the model's
/// layers.
absl::Status PrintExpectation(const StreamConfig& stream, double frames_per_second) {
  const std::string& weights = stream.learner.weights;
  MILLRACE_ASSIGN_OR_RETURN(const auto learner,
                            pipeline::MakeFlowLearner(stream.learner, stream.flow,
                                                      [](const pipeline::ModelPrediction&) {}));
  const auto description = learner->description();
  std::cout << "learns    " << DescribeFlow(stream) << ", from "
            << (weights.empty() ? "random weights" : weights) << "\nexpect    "
            << DescribeExpectation(*description, frames_per_second,
                                   stream.source.max_frames_per_second)
            << "\n";
  return absl::OkStatus();
}

absl::Status Init(const InitArguments& arguments) {
  const std::string text = ConfigOf(arguments);
  MILLRACE_ASSIGN_OR_RETURN(const StreamConfig stream, StreamOf(arguments, text));
  std::error_code error;
  if (!arguments.force && std::filesystem::exists(arguments.output, error)) {
    return AlreadyThere(arguments.output);
  }
  const bool look = !arguments.offline && ingest::CanLook(stream.source);
  ingest::SourceFacts facts = UsualCamera();
  if (look) {
    std::cout << "camera    " << ingest::WithoutCredentials(arguments.uri) << std::flush;
    const absl::StatusOr<ingest::SourceFacts> seen = ingest::Look(stream.source);
    std::cout << (seen.ok() ? absl::StrCat(", ", Described(*seen)) : "") << std::endl;
    if (!seen.ok()) {
      return absl::Status(
          seen.status().code(),
          absl::StrCat(
              seen.status().message(),
              "\nNothing was written. --offline writes the file without connecting to the camera"));
    }
    facts = *seen;
  }
  const bool secret = HoldsPassword(arguments.uri);
  MILLRACE_RETURN_IF_ERROR(WriteConfig(arguments.output, text, secret, arguments.force));
  std::cout << "wrote     " << arguments.output
            << (secret ? ", readable by you alone, because it holds the camera's login" : "")
            << std::endl;
  if (look) {
    MILLRACE_RETURN_IF_ERROR(PrintExpectation(FitTo(facts, stream), facts.frames_per_second));
  }
  std::cout << "\nNext: millrace serve"
            << (arguments.output == kUsualConfig ? "" : " --config " + arguments.output) << "\n";
  return absl::OkStatus();
}

}  // namespace

void AddInit(CLI::App& app, InitArguments& arguments) {
  CLI::App* init = app.add_subcommand("init", "Write the configuration of a camera");
  init->add_option(
          "uri", arguments.uri,
          "The camera: rtsp://USER:PASSWORD@HOST/PATH, v4l2:/dev/video0, or a video's path")
      ->required();
  init->add_option("-o,--output", arguments.output, "The file to write")->capture_default_str();
  init->add_option("--name", arguments.name, "The stream's name")->capture_default_str();
  init->add_flag("--force", arguments.force, "Replace the file if it is there");
  init->add_flag("--offline", arguments.offline, "Write it without connecting to the camera");
  init->footer(kFooter);
}

std::string ConfigOf(const InitArguments& arguments) {
  const std::string name =
      nlohmann::json(arguments.name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const bool letters = std::ranges::all_of(
      arguments.name, [](unsigned char c) { return absl::ascii_isalpha(c) || c == '-'; });
  const bool plain = letters && !absl::EqualsIgnoreCase(arguments.name, "null");
  return absl::StrCat("version: 1\nstreams:\n  - name: ", plain ? arguments.name : name,
                      "\n    source:\n      uri: ", InYaml(UriInFile(arguments)), "\n");
}

// Writes a temporary file first, so that no reader sees half a file or a readable password.
absl::Status WriteConfig(const std::string& path, const std::string& text, bool secret,
                         bool replace) {
  std::string temporary = path + ".XXXXXX";
  const int file = mkstemp(temporary.data());  // mkstemp() makes it readable by its owner alone.
  if (file < 0) return CannotWrite(path);
  const absl::Cleanup remove = [&] {
    close(file);
    unlink(temporary.c_str());
  };
  const mode_t mask = umask(0);
  umask(mask);
  constexpr mode_t kForAll = 0666;
  if (!secret && fchmod(file, kForAll & ~mask) != 0) return CannotWrite(path);
  if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      fsync(file) != 0) {
    return CannotWrite(path);
  }
  const int made = replace ? std::rename(temporary.c_str(), path.c_str())
                           : link(temporary.c_str(), path.c_str());
  if (made == 0) return absl::OkStatus();
  return errno == EEXIST ? AlreadyThere(path) : CannotWrite(path);
}

int RunInit(const InitArguments& arguments) {
  const absl::Status status = Init(arguments);
  if (status.ok()) return kExitOk;
  std::cerr << "millrace init: " << status.message() << "\n";
  const bool of_camera = status.code() != absl::StatusCode::kInvalidArgument &&
                         status.code() != absl::StatusCode::kAlreadyExists;
  return of_camera ? kExitFailure : kExitUsage;
}

}  // namespace millrace::service
