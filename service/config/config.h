// The one configuration file: what `millrace serve` reads, checked in full before anything starts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ingest/source/source.h"
#include "pipeline/learner/flow_learner_options.h"
#include "pipeline/learner/label_learner_options.h"
#include "service/access/grpc_security.h"

namespace millrace::service {

/// How a stream's predictions are scored, beside what the learner itself says.
struct ScoreConfig {
  /// Seconds of the stream's own time in a window.
  double window_s = 60;
  /// A method that runs beside the model on every frame: one of pipeline::ReferenceFlowNames().
  /// "none": nothing does.
  std::string compare_with = "none";
};

/// What a stream's model learns.
enum class Task { kFlow, kNextFrame, kClassification, kRegression };

/// Whether it learns from labels that clients send.
[[nodiscard]] constexpr bool IsOfLabels(Task task) {
  return task == Task::kClassification || task == Task::kRegression;
}

/// Of a schedule.
inline constexpr int kMostStages = 8;

/// One camera and the learner that lives on it.
struct StreamConfig {
  /// Letters, digits, '-' and '_'; unique. Names the stream in the API and in the `stream` label.
  std::string name;
  /// `source.width` and `source.height` are the model's input size.
  ingest::SourceOptions source;
  Task task = Task::kFlow;
  /// Whether the file says the input's size.
  bool input_said = false;
  /// A task of labels reads of it what all learners have: the input's size, the learning rate, the
  /// seed and the schedule.
  pipeline::FlowLearnerOptions learner;
  /// A task of labels: complete.
  pipeline::LabelStreamOptions labels = {
      .learner = {.network = "mlp", .layers = 4, .width = 64, .outputs = 0, .window = 64}};
  ScoreConfig scores;
  /// The stream's entry as it was written, as JSON: an object.
  std::string entry = "{}";
  /// All that holds for it, what the entry leaves out too, as JSON: the same for streams that are
  /// to be the same, however they are written. Of one that nothing was read of: an empty object.
  std::string in_force = "{}";
  /// Relative paths in the entry are relative to this: the configuration file's folder, whoever
  /// wrote the entry. Empty: the working folder.
  std::string folder = {};
  /// Whether the configuration file says so, and not a client.
  bool of_file = false;
};

/// `stream` as it is kept: without the tokens that give up its start, which are of one call.
[[nodiscard]] inline StreamConfig WithoutTokens(StreamConfig stream) {
  stream.learner.stop = stream.source.stop = {};
  return stream;
}

/// What streams clients may add: they choose what this machine connects to and which files it
/// opens.
struct ClientSources {
  /// Of "file", "rtsp", "rtsps", "v4l2", "push" and "test". A plain path is a file, a folder's,
  /// too.
  std::vector<std::string> schemes = {"rtsp", "rtsps", "push", "test"};
  /// Cameras: patterns of the URI's host, such as "10.0.0.*".
  std::vector<std::string> hosts = {"*"};
  /// Whether keys that name files of this machine may be set: weights, checkpoints, passwords.
  bool files = false;
};

/// What all streams together may take of the devices (device_budget.h). Absent: all there is, and
/// the file's own streams may take more, which is logged.
struct Budget {
  /// Of the CPU.
  std::optional<double> cores = {};
  /// Of each GPU's time.
  std::optional<double> gpu = {};
  /// 10^9 bytes of this machine's memory (memory_budget.h).
  std::optional<double> memory_gb = {};

  [[nodiscard]] bool said() const { return cores || gpu || memory_gb; }
};

struct Listen {
  /// Of gRPC; see web_address() for the rest. Port 0 takes a free one.
  std::string address = "127.0.0.1";
  int grpc_port = 50051;
  /// The live page.
  int http_port = 8080;
  /// /metrics, /startupz, /healthz, /readyz: a server of their own, so that viewers cannot starve
  /// them.
  int metrics_port = 9464;
  /// Of a connection of gRPC's, in seconds; 0: as long as it likes.
  int connection_age_s = 3600;
  /// Browsers that may watch the live page at once; one more gets 503.
  int max_viewers = 16;
  GrpcSecurity security = {};

  /// Where the page, the metrics and the probes are. They are plain text, also where gRPC is TLS,
  /// so they stay on this machine unless plain text beyond it is allowed.
  [[nodiscard]] std::string web_address() const {
    return security.allow_plain_text || IsLoopback(address) ? address : "127.0.0.1";
  }
};

struct Config {
  std::vector<StreamConfig> streams;
  /// What holds for a stream that does not say otherwise.
  StreamConfig defaults;
  ClientSources client_sources;
  Budget budget;
  Listen listen;
};

/// Parses YAML, `version: 1`. `name` stands for the file in messages. Any error (syntax, unknown
/// key, missing key, value out of range) is INVALID_ARGUMENT "NAME:LINE:COLUMN: what is wrong; what
/// is allowed", and names all errors found, one a line. Relative paths in it (videos, weights) get
/// `folder` before them; empty: they stay relative to the working folder.
[[nodiscard]] absl::StatusOr<Config> ParseConfig(std::string_view yaml, std::string_view name,
                                                 const std::string& folder = "");

/// Parses an entry of `streams` that a client wrote, in YAML or JSON; what it leaves out is as in
/// `defaults`, and its relative paths are relative to the folder of `defaults`. Any error is
/// INVALID_ARGUMENT with a field violation for each (error_reason.h), whose fields begin with
/// `field`.
[[nodiscard]] absl::StatusOr<StreamConfig> ParseStreamEntry(std::string_view text,
                                                            std::string_view field,
                                                            const StreamConfig& defaults);

/// Reads and parses the file at `path`. Relative paths inside it are relative to its folder; those
/// of a pipe, to the working folder. NOT_FOUND if the file cannot be read.
[[nodiscard]] absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace millrace::service
