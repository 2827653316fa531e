// The one configuration file: what `millrace serve` reads, checked in full before anything starts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ingest/source/source.h"
#include "pipeline/learner/flow_task_options.h"
#include "pipeline/learner/label_task_options.h"
#include "pipeline/learner/learner_options.h"
#include "service/access/grpc_security.h"

namespace millrace::service {

/// How a stream's predictions are scored, in addition to the learner's own statistics.
struct ScoreConfig {
  /// Length of a window, in seconds of the stream's own time.
  double window_s = 60;
  /// A method that runs beside the model on every frame: one of pipeline::ReferenceFlowNames().
  /// "none": no method.
  std::string compare_with = "none";
};

/// What a stream's model learns.
enum class Task { kFlow, kNextFrame, kClassification, kRegression };

/// Whether `task` learns from labels that clients send.
[[nodiscard]] constexpr bool IsOfLabels(Task task) {
  return task == Task::kClassification || task == Task::kRegression;
}

/// The largest number of stages of a schedule.
inline constexpr int kMaxStages = 8;
/// The largest number of streams.
inline constexpr std::size_t kMaxStreams = 64;
/// Stages of a schedule that does not choose their number.
inline constexpr int kUsualStages = 2;

/// One camera and its learner.
struct StreamConfig {
  /// Letters, digits, '-' and '_'; unique. Names the stream in the API and in the `stream` label.
  std::string name;
  /// `source.width` and `source.height` are the model's input size.
  ingest::SourceOptions source;
  Task task = Task::kFlow;
  /// Whether the file sets the size of the input.
  bool input_is_set = false;
  /// Whether the file sets the number of stages.
  bool stages_are_set = false;
  pipeline::LearnerOptions learner;
  /// Whether `learner.frames_per_second` is the rate of the camera, which the plan follows.
  bool follows_camera = false;
  /// The options of the tasks; the learner reads those of `task`. The others stay beside them: the
  /// effective settings show every key, and the file's defaults are for streams of both kinds.
  pipeline::FlowTaskOptions flow;
  pipeline::LabelTaskOptions labels = {
      .layers = 4, .outputs = 0, .window = 64, .divergence = pipeline::kLabelDivergence};
  ScoreConfig scores;
  /// The stream's entry as its author wrote it, as a JSON object.
  std::string entry = "{}";
  /// The effective settings as JSON, the entry's and the defaults. Equal for streams with equal
  /// settings, however their entries are written. An empty object if no entry was read.
  std::string effective = "{}";
  /// Base of the relative paths in the entry: the configuration file's folder, even if a client
  /// wrote the entry. Empty: the working folder.
  std::string folder = {};
  /// Whether the configuration file defines this stream. False if a client added it.
  bool of_file = false;
};

/// Limits on the streams that clients may add. Such a stream decides which addresses and files this
/// machine opens.
struct ClientSources {
  /// The allowed schemes: "file", "rtsp", "rtsps", "v4l2", "push" and "test". "file" includes plain
  /// paths and folders.
  std::vector<std::string> schemes = {"rtsp", "rtsps", "push", "test"};
  /// Allowed cameras: patterns of the URI's host, such as "10.0.0.*" (host_pattern.h).
  std::vector<std::string> hosts = {"*"};
  /// Whether clients may set keys that name files of this machine: weights, checkpoints, passwords.
  bool files = false;
};

/// The share of the devices that all streams together may use (device_budget.h). Without a limit,
/// the whole device counts. Then the file's own streams may exceed it, and the log says so.
struct Budget {
  /// Cores of the CPU.
  std::optional<double> cores = {};
  /// Share of each GPU's time.
  std::optional<double> gpu = {};
  /// Memory of this machine, in 10^9 bytes (memory_budget.h).
  std::optional<double> memory_gb = {};

  [[nodiscard]] bool is_set() const { return cores || gpu || memory_gb; }
};

struct Listen {
  /// The address of the gRPC port; web_address() gives that of the other ports. Port 0 takes a free
  /// one.
  std::string address = "127.0.0.1";
  int grpc_port = 50051;
  /// The port of the live page.
  int http_port = 8080;
  /// The port of /metrics, /startupz, /healthz and /readyz. It is a separate server, so that
  /// viewers cannot starve it.
  int metrics_port = 9464;
  /// The longest life of a gRPC connection, in seconds. 0: unlimited.
  int connection_age_s = 3600;
  /// The number of browsers that may watch the live page at once. Further ones get 503.
  int max_viewers = 16;
  GrpcSecurity security = {};

  /// The address of the page, the metrics and the probes. They always use plain text, even with TLS
  /// for gRPC. So they stay on this machine unless the configuration allows plain text beyond it.
  [[nodiscard]] std::string web_address() const {
    return security.allow_plain_text || IsLoopback(address) ? address : "127.0.0.1";
  }
};

/// Where this server leads processes on other hosts that run stages of its networks
/// (docs/many-hosts.md).
struct RanksConfig {
  /// HOST:PORT of this host, as the others reach it, or ":PORT" under a launcher. Empty: it leads
  /// no other processes.
  std::string listen = {};
  /// The file with the secret that all ranks share.
  std::string secret_file = {};
  /// A process without a sign of life for this number of seconds is lost.
  double lost_after_s = 5;

  bool operator==(const RanksConfig&) const = default;
};

struct Config {
  std::vector<StreamConfig> streams;
  /// The values of a stream that does not set its own.
  StreamConfig defaults;
  ClientSources client_sources;
  Budget budget;
  Listen listen;
  RanksConfig ranks;
};

/// Parses YAML, `version: 1`. `name` stands for the file in messages. Any error (syntax, unknown
/// key, missing key, value out of range) gives INVALID_ARGUMENT. The message lists every error, one
/// per line, as "NAME:LINE:COLUMN: what is wrong; what is allowed". Relative paths (videos,
/// weights) get `folder` as a prefix; with an empty `folder` they stay relative to the working
/// folder.
[[nodiscard]] absl::StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view name,
                                                 const std::string& folder = "");

/// Parses an entry of `streams` that a client wrote, in YAML or JSON. `defaults` provides the
/// missing keys and the base of relative paths. Any error gives INVALID_ARGUMENT with one field
/// violation for each error (error_reason.h). The fields begin with `field`.
[[nodiscard]] absl::StatusOr<StreamConfig> ParseStreamEntry(std::string_view text,
                                                            std::string_view field,
                                                            const StreamConfig& defaults);

/// Reads and parses the file at `path`. Relative paths inside it are relative to its folder, or,
/// for a pipe, to the working folder. NOT_FOUND if the file cannot be read.
[[nodiscard]] absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace millrace::service
