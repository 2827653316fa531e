// Plays the images of a folder as a video, at a given rate, once or in a loop.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "ingest/frame/frame_feed.h"
#include "ingest/frame/pacer.h"
#include "ingest/inputs/open_source.h"
#include "ingest/pictures/picture_maker.h"
#include "ingest/source/picture_pipeline.h"
#include "ingest/source/source.h"
#include "ingest/source/state_log.h"

namespace millrace::ingest {

/// Plays images. An unreadable image is skipped and logged once. After it, or after a change of
/// size, a new epoch begins. Thread-safe. The destructor stops it.
class FolderSource final : public Source {
 public:
  /// Starts to play `images` at once. REQUIRES: `images` is not empty.
  FolderSource(const SourceRequest& request, std::vector<std::string> images);
  ~FolderSource() override { FolderSource::Stop(); }

  [[nodiscard]] FrameQueue& queue() override { return feed_.queue(); }
  [[nodiscard]] SourceStatus status() const override ABSL_LOCKS_EXCLUDED(mu_);
  void Stop() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // On the player's thread.
  void Play() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status PlayRounds() ABSL_LOCKS_EXCLUDED(mu_);
  /// Returns false if it was stopped first.
  [[nodiscard]] bool PlayOnce() ABSL_LOCKS_EXCLUDED(mu_);
  void LeaveOut(const std::string& path, const absl::Status& why);
  void Show(const MadePicture& made, std::size_t index) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool WaitUntilDue(std::size_t index) ABSL_LOCKS_EXCLUDED(mu_);
  void Finish(const absl::Status& outcome) ABSL_LOCKS_EXCLUDED(mu_);

  [[nodiscard]] std::chrono::nanoseconds TimeOf(std::size_t index) const;
  [[nodiscard]] bool stopping() const ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  const std::string shown_;
  const std::vector<std::string> images_;
  const SourceOptions options_;
  const double images_per_second_;
  const Clock& clock_;
  const PictureMaker maker_;

  // Self-synchronized.
  FrameFeed feed_;
  StateLog states_;  ///< Changes under mu_, so that status() is a consistent snapshot.

  // Used by the player's thread only.
  std::set<std::string> left_out_;
  absl::Status last_wrong_;

  mutable Mutex mu_;
  CondVar changed_;
  absl::Status cause_ ABSL_GUARDED_BY(mu_);
  CameraFormat format_ ABSL_GUARDED_BY(mu_);
  Pacer pacer_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  Mutex join_mu_;  ///< Held by the thread that joins.
  std::jthread player_;
};

/// As OpenSource(), for a path that NamesImages(). The first image must be readable, so that a
/// wrong folder is found at once.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenFolder(const SourceRequest& request,
                                                                 const std::string& path);

}  // namespace millrace::ingest
