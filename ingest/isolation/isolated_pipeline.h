// A pipeline in a separate process, from the server's side.
//
// A million lines of C decode a camera's data. A fault there ends that process and not the server.
// The server treats it as a lost camera, and retries. A process that hangs is killed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/statusor.h"
#include "base/descriptor.h"
#include "base/mutex.h"
#include "ingest/frame/grid.h"
#include "ingest/isolation/messages.h"
#include "ingest/isolation/picture_slots.h"
#include "ingest/isolation/spawner.h"
#include "ingest/source/listener_gate.h"
#include "ingest/source/picture_pipeline.h"

namespace millrace::ingest {

class IsolatedPipeline final : public PicturePipeline {
 public:
  struct Options {
    /// The encoded task of the process (camera_task.h).
    std::string task = {};
    /// The size of its pictures.
    Extent grid = {};
    /// Receives its log lines, on a thread of the pipeline, until the pipeline's end.
    std::function<void(int level, std::string_view text)> log;
    /// The maximum wait for the process's end. The spawner kills the process earlier.
    std::chrono::milliseconds end{4000};
  };

  /// Makes `spawner` start a process, which waits for Play(). `listener` must outlive the pipeline
  /// or End().
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<IsolatedPipeline>> Create(
      Options options, const Spawner& spawner, PipelineListener& listener);

  /// Uses the process at the other end of `socket`. Play() sends it `slots_file`.
  IsolatedPipeline(Options options, Descriptor socket, Descriptor slots_file, MappedSlots slots,
                   PipelineListener& listener);
  ~IsolatedPipeline() override { End(); }

  void Play() override;
  [[nodiscard]] std::string Codec() const override ABSL_LOCKS_EXCLUDED(mu_);
  bool End() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// Limits the process's messages per second.
  class MessageLimits;

  void Read();
  /// Reads until the process has ended or sends an invalid message. Returns the outcome.
  [[nodiscard]] absl::Status ReadMessages();
  /// Reports a hang. Returns the outcome.
  [[nodiscard]] absl::Status OutcomeOf(const ProcessEnded& ended) const;
  void Handle(FromCamera message) ABSL_LOCKS_EXCLUDED(mu_);
  void Show(const PictureInSlot& picture);

  // Constant after construction.
  const Options options_;
  const Descriptor socket_;
  const Descriptor slots_file_;
  const MappedSlots slots_;

  // Self-synchronized.
  ListenerGate listener_;

  mutable Mutex mu_;
  CondVar changed_;
  std::string codec_ ABSL_GUARDED_BY(mu_);
  bool has_ended_ ABSL_GUARDED_BY(mu_) = false;

  std::jthread reader_;  // Last: it uses all members above.
};

}  // namespace millrace::ingest
