// One client's FrameService.Push call: frames in, their outcomes out.
//
//   gRPC ─ request ─▶ the call's thread: decodes, pushes, may wait ─▶ stream
//   gRPC ◀─ outcome ─ Advance() ◀─ outbox ◀────────────── stream, learner
//
// An error ends the call at once. It may have outcomes that were not sent.
//
// Backpressure: the next request is read only after the previous one was pushed, and only while few
// outcomes wait for the client.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "base/mutex.h"
#include "ingest/source/push_entry.h"
#include "millrace/v1/frame_service.pb.h"
#include "service/api/push_outbox.h"
#include "service/registry/stream_registry.h"
#include "service/rpc/stream_writer.h"
#include "service/wire/wire.h"

namespace millrace::service {

/// Thread-safe, like StreamWriter. The initial metadata follows once the stream has accepted the
/// call.
class PushCall final
    : public StreamWriter<v1::PushResponse,
                          grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  /// `streams` must outlive it, and `calls` must outlive its OnDone(). Call Begin() next.
  PushCall(const StreamRegistry& streams, StreamingCalls& calls);

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mu_);

 protected:
  bool MayOpen() override ABSL_LOCKS_EXCLUDED(mu_);
  Step Advance(v1::PushResponse& message, absl::Status& end) override ABSL_LOCKS_EXCLUDED(mu_);
  void Read() override ABSL_LOCKS_EXCLUDED(mu_);
  bool Ending() override ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Stalled(std::chrono::nanoseconds limit) override;
  void Over() override;

 private:
  /// The state of the client's side. Only a thread in kHandling may touch the request.
  enum class Reading {
    kReading,   ///< gRPC writes to `received_`.
    kHandling,  ///< The call's thread uses the request.
    kResting,   ///< The next request may be read.
    kOver,      ///< The client has closed its side or is gone.
    kEnded,     ///< The call has ended; its thread ends.
  };

  void ToResponse(const PushOutcome& outcome, v1::PushResponse& response) const;
  /// Fails if the system has no more threads.
  [[nodiscard]] absl::Status BeginThread();
  [[nodiscard]] absl::Status SourceGone() const;

  // The functions below run on the call's thread.
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  /// An error ends the call.
  [[nodiscard]] absl::Status Handle() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status TakePlace() ABSL_LOCKS_EXCLUDED(mu_);
  void Push(const v1::PushedFrame& frame);
  [[nodiscard]] absl::Status PushInto(const v1::PushedFrame& frame,
                                      const std::shared_ptr<PushedFrame>& ticket);

  // Constant after construction.
  const StreamRegistry& streams_;

  // Self-synchronized.
  const std::shared_ptr<PushOutbox> outbox_;

  grpc::ByteBuffer received_;  // Used by gRPC or the call's thread, see `reading_`.
  v1::PushRequest request_;    // Used by the call's thread.

  // Set by the call's thread. Constant once `placed_`.
  SharedStream stream_;
  PredictionParts parts_;
  std::unique_ptr<ingest::Pusher> pusher_;  // Released by Ending().

  Mutex mu_;
  CondVar changed_;
  Reading reading_ ABSL_GUARDED_BY(mu_) = Reading::kResting;
  bool placed_ ABSL_GUARDED_BY(mu_) = false;  // The stream has accepted the call.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);

  std::jthread thread_;  // Starts with the first request.
};

}  // namespace millrace::service
