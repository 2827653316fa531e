// One subscriber's call: reads a stream's ring and writes to the client.
//
// While a message waits for the network, what the client misses meanwhile falls out of its depth of
// the ring and is counted.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <utility>

#include "service/prediction_reader.h"
#include "service/stream_writer.h"

namespace millrace::service {

/// Thread-safe, as StreamWriter.
class Subscription final : public StreamWriter<grpc::ByteBuffer> {
 public:
  /// Subscribes. `subscribers` must outlive it. Begin() must follow.
  Subscription(std::shared_ptr<StreamFeed> feed, const PredictionReader::Options& options,
               Subscribers& subscribers)
      : StreamWriter(subscribers), reader_(std::move(feed), options) {}

 protected:
  Step Advance(grpc::ByteBuffer& message, absl::Status& end) override;
  void Written() override { reader_.Sent(); }
  absl::Status Stalled(std::chrono::nanoseconds limit) override { return reader_.Stalled(limit); }
  void Ending() override { reader_.LetGo(); }
  void Over() override { reader_.Over(); }

 private:
  PredictionReader reader_;  // Of whoever is in Advance(), but for its counts.
};

}  // namespace millrace::service
