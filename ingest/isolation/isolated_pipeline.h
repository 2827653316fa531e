// A pipeline that runs in a process of its own, as the server sees it.
//
// What a camera sends is decoded by a million lines of C. A fault there ends that process instead
// of the server, which hears of it as of a camera that is gone, and tries again. A process that
// hangs is killed.
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
    /// What the process is told (camera_task.h).
    std::string task = {};
    /// Of its pictures.
    Extent grid = {};
    /// Gets the lines of its log, from a thread of the pipeline, until it has ended.
    std::function<void(int level, std::string_view text)> log;
    /// After so long the process is no longer waited for: the spawner kills it before.
    std::chrono::milliseconds end{4000};
  };

  /// Has `spawner` start a process, which waits for Play(). `listener` must outlive it, or End().
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<IsolatedPipeline>> Create(
      Options options, const Spawner& spawner, PipelineListener& listener);

  /// Of the process at the other end of `socket`, to which Play() hands `slots`.
  IsolatedPipeline(Options options, Descriptor socket, Descriptor slots_file, MappedSlots slots,
                   PipelineListener& listener);
  ~IsolatedPipeline() override { End(); }

  void Play() override;
  [[nodiscard]] std::string Codec() const override ABSL_LOCKS_EXCLUDED(mu_);
  bool End() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  /// Bounds what a process may say a second.
  class Talk;

  void Read();
  /// Until its process has ended, or says what it may not. Returns why, as an outcome.
  [[nodiscard]] absl::Status ReadMessages();
  void Hear(FromCamera message) ABSL_LOCKS_EXCLUDED(mu_);
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

  std::jthread reader_;  // Last: it uses all of the above.
};

}  // namespace millrace::ingest
