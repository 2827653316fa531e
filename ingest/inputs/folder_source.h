// The images of a folder as a video: at a rate that is said, once or in a loop.
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

/// Images that play. An image that cannot be read is left out, and said once in the log; the next
/// one begins a new epoch, as one of another size does. Thread-safe. The destructor stops it.
class FolderSource final : public Source {
 public:
  /// Starts to play `images`, of which there is one at least, at once.
  FolderSource(const SourceRequest& request, std::vector<std::string> images);
  ~FolderSource() override { FolderSource::Stop(); }

  [[nodiscard]] FrameQueue& queue() override { return feed_.queue(); }
  [[nodiscard]] SourceStatus status() const override ABSL_LOCKS_EXCLUDED(mu_);
  void Stop() override ABSL_LOCKS_EXCLUDED(mu_);

 private:
  // On the player's thread.
  void Play() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status PlayRounds() ABSL_LOCKS_EXCLUDED(mu_);
  /// Returns false when stopped first.
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
  StateLog states_;  ///< Changes with mu_ held, so that all of status() is of one moment.

  // Of the player's thread.
  std::set<std::string> left_out_;
  absl::Status last_wrong_;

  mutable Mutex mu_;
  CondVar changed_;
  absl::Status cause_ ABSL_GUARDED_BY(mu_);
  CameraFormat format_ ABSL_GUARDED_BY(mu_);
  Pacer pacer_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  Mutex join_mu_;  ///< Held by the one thread that joins.
  std::jthread player_;
};

/// As OpenSource(), of a path that NamesImages(). The first image has to be a good one: that most
/// are not shows at once.
[[nodiscard]] absl::StatusOr<std::unique_ptr<Source>> OpenFolder(const SourceRequest& request,
                                                                 const std::string& path);

}  // namespace millrace::ingest
