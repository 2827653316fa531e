// One client's download of a checkpoint: its files in pieces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/regular_file.h"
#include "millrace/v1/checkpoint_service.pb.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "service/rpc/stream_writer.h"

namespace millrace::service {

/// Reads a piece when the previous one is sent, so a slow client costs one piece of memory. Reads
/// on gRPC's threads. Thread-safe, like StreamWriter. Ends with DATA_LOSS if a file disappears.
class CheckpointDownload final : public StreamWriter<v1::DownloadCheckpointResponse> {
 public:
  /// The checkpoint to download.
  struct What {
    /// The name of the camera stream.
    std::string stream = {};
    /// The checkpoint's folder.
    std::string path = {};
    pipeline::CheckpointManifest manifest = {};
  };

  /// `calls` must outlive it. Call Begin() next.
  CheckpointDownload(const What& what, StreamingCalls& calls);

 protected:
  Step Advance(v1::DownloadCheckpointResponse& message, absl::Status& end) override;
  absl::Status Stalled(std::chrono::nanoseconds limit) override;
  bool Ending() override {
    in_.reset();
    return true;
  }

 private:
  struct File {
    std::string path = {};
    std::string name = {};
  };

  [[nodiscard]] bool OpenNext();

  // Constant after construction.
  const std::string stream_;

  // Used only in Advance().
  std::vector<File> files_;  // Remaining files, the last one first.
  File now_;
  std::optional<RegularFile> in_;
  std::uint64_t bytes_ = 0;
  std::uint64_t sent_ = 0;
};

}  // namespace millrace::service
