// One subscriber's call: reads a stream's ring and writes to the client.
//
// While a message waits for the network, older predictions fall out of the subscriber's depth in
// the ring and count as lost. On request, status messages come between the predictions; they do not
// count as predictions.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <utility>

#include "service/rpc/stream_writer.h"
#include "service/subscriptions/prediction_reader.h"
#include "service/subscriptions/status_notes.h"

namespace millrace::service {

/// Thread-safe, like StreamWriter.
class Subscription final : public StreamWriter<grpc::ByteBuffer> {
 public:
  /// Subscribes. `notes`: for the hub's stream; null: no status messages. `calls` must outlive
  /// it. Call Begin() next.
  Subscription(std::shared_ptr<SubscriptionHub> hub, const SubscriptionOptions& options,
               std::unique_ptr<StatusNotes> notes, StreamingCalls& calls)
      : StreamWriter(calls), reader_(std::move(hub), options), notes_(std::move(notes)) {
    Follow(&reader_.hub());
  }

 protected:
  Step Advance(grpc::ByteBuffer& message, absl::Status& end) override;
  void Written() override {
    if (!is_status_) reader_.Sent();
  }
  absl::Status Stalled(std::chrono::nanoseconds limit) override { return reader_.Stalled(limit); }
  bool Ending() override {
    reader_.LetGo();
    return true;
  }
  void Over() override { reader_.Over(); }

 private:
  [[nodiscard]] Step Write(const PredictionReader::Next& next, grpc::ByteBuffer& message);
  [[nodiscard]] Step Write(const v1::StreamStatus& status, grpc::ByteBuffer& message);

  PredictionReader reader_;  // Used only in Advance(), except its counts.
  const std::unique_ptr<StatusNotes> notes_;
  bool is_status_ = false;  // Whether the last message is a status.
};

}  // namespace millrace::service
