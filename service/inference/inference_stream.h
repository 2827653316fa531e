// One client's ModelStreamInfer call: a request without inputs subscribes it to a stream.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "inference/open_inference_grpc.pb.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/stream_writer.h"
#include "service/subscriptions/prediction_reader.h"
#include "service/subscriptions/subscription_hub.h"

namespace millrace::service {

/// Thread-safe, like StreamWriter. Ends with OK when the client closes its side.
class InferenceStream final
    : public StreamWriter<grpc::ByteBuffer,
                          grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  /// All must outlive it. Call Begin() next.
  InferenceStream(const StreamRegistry& streams, SubscriptionHubs& hubs, StreamingCalls& calls)
      : StreamWriter(calls), streams_(streams), hubs_(hubs) {}

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(reading_);

 protected:
  Step Advance(grpc::ByteBuffer& message, absl::Status& end) override ABSL_LOCKS_EXCLUDED(reading_);
  void Written() override ABSL_LOCKS_EXCLUDED(reading_);
  absl::Status Stalled(std::chrono::nanoseconds limit) override ABSL_LOCKS_EXCLUDED(reading_);
  void Read() override ABSL_LOCKS_EXCLUDED(reading_);
  bool Ending() override ABSL_LOCKS_EXCLUDED(reading_);
  void Over() override ABSL_LOCKS_EXCLUDED(reading_);

 private:
  /// The next prediction to send. Its reader lives as long as the call.
  struct Due {
    PredictionReader::Next next;
    const PredictionReader* reader = nullptr;
    std::string id;
  };

  /// Parses the client's request and calls Subscribe(). An exception becomes INTERNAL.
  [[nodiscard]] absl::Status Take(const grpc::ByteBuffer& bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(reading_);
  [[nodiscard]] absl::Status Subscribe(const inference::ModelInferRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(reading_);
  Step Next(Due& due, absl::Status& end) ABSL_LOCKS_EXCLUDED(reading_);

  // Constant after construction.
  const StreamRegistry& streams_;
  SubscriptionHubs& hubs_;

  grpc::ByteBuffer request_;  // Owned by gRPC from Read() to OnReadDone().

  Mutex reading_;
  bool may_read_ ABSL_GUARDED_BY(reading_) = true;  // The next request may be read.
  std::unique_ptr<PredictionReader> reader_ ABSL_GUARDED_BY(reading_);  // Null: not subscribed.
  std::string id_ ABSL_GUARDED_BY(reading_);                   // The id of the subscribing request.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(reading_);  // The status for the client's end.
  bool let_go_ ABSL_GUARDED_BY(reading_) = false;              // Ending() was called.
};

}  // namespace millrace::service
