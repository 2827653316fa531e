// One client's download of a checkpoint: its files, piece by piece.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "millrace/v1/checkpoint_service.pb.h"
#include "service/own_reactor.h"

namespace millrace::service {

/// Reads a piece when the one before is gone, so a slow client costs one piece of memory. gRPC
/// calls it from one thread at a time. Ends with DATA_LOSS where a file goes meanwhile.
class CheckpointDownload final : public OwnReactor<grpc::ServerWriteReactor<grpc::ByteBuffer>> {
 public:
  /// Of the checkpoint at `path`.
  explicit CheckpointDownload(const std::string& path);

  void OnWriteDone(bool ok) override;

 private:
  struct File {
    std::string path = {};
    std::string name = {};
    std::uint64_t bytes = 0;
  };

  /// Writes the next piece, or ends the call.
  void WriteNext();
  [[nodiscard]] bool OpenNext();

  std::vector<File> files_;  // Those that are still to come, the last one first.
  File now_;
  std::ifstream in_;
  std::uint64_t left_ = 0;
  v1::DownloadCheckpointResponse response_;
  grpc::ByteBuffer bytes_;  // Of the response; gRPC reads them while it writes.
};

}  // namespace millrace::service
