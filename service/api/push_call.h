// One client's FrameService.Push call: frames in, their outcomes out.
//
//   gRPC ─ request ─▶ the call's thread: decodes, pushes, may wait ─▶ stream
//   gRPC ◀─ outcome ─ Pump() ◀─ outbox ◀────────────── stream, learner
//
// Backpressure: the next request is read only after the previous one was pushed, and only while few
// outcomes wait for the client.
//
// Only one thread at a time starts gRPC operations or finishes the call. Otherwise the call could
// be destroyed between the choice of an operation and its start. Other threads return, and the
// active thread checks again before it stops.
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
#include "service/registry/streams.h"
#include "service/rpc/pumped.h"
#include "service/rpc/subscribers.h"
#include "service/wire/wire.h"

namespace millrace::service {

/// Called by gRPC's threads and by Subscribers, which share it. It lives until gRPC has called
/// OnDone() and no call from Subscribers is in progress.
class PushCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                       public Pumped {
 public:
  /// `streams` must outlive it, and `subscribers` must outlive its OnDone(). gRPC owns `context`
  /// until then.
  PushCall(const Streams& streams, Subscribers& subscribers, grpc::CallbackServerContext& context);
  /// Call it once, after the call was added to `subscribers`.
  void Start() { StartRead(&received_); }

  void Pump() override ABSL_LOCKS_EXCLUDED(mu_);
  bool EndIfStalled(std::chrono::nanoseconds now, std::chrono::nanoseconds limit) override
      ABSL_LOCKS_EXCLUDED(mu_);

  void OnReadDone(bool ok) override ABSL_LOCKS_EXCLUDED(mu_);
  void OnSendInitialMetadataDone(bool /*ok*/) override { OnSent(); }
  void OnWriteDone(bool /*ok*/) override { OnSent(); }
  void OnCancel() override ABSL_LOCKS_EXCLUDED(mu_);
  void OnDone() override;

 private:
  /// The state of the client's side. Only a thread in kHandling may touch the request.
  enum class Reading {
    kReading,   ///< gRPC writes to `received_`.
    kHandling,  ///< The call's thread uses the request.
    kResting,   ///< The next request may be read.
    kOver,      ///< The client has closed its side or is gone.
  };
  enum class Step { kNothing, kOpen, kRead, kWrite, kFinish };

  /// The next step. After any step but kNothing, this thread continues to pump. kWrite sends
  /// `outcome`; kFinish ends the call with `end`. REQUIRES: this thread pumps.
  [[nodiscard]] Step NextStep(PushOutcome& outcome, absl::Status& end) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] Step Decide(PushOutcome& outcome, absl::Status& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// The status that ends the call now; nullopt while it continues.
  [[nodiscard]] std::optional<absl::Status> End() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnSent() ABSL_LOCKS_EXCLUDED(mu_);
  /// Serializes and sends the outcome. If that throws, the call fails.
  void WriteOutcome(const PushOutcome& outcome) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] v1::PushResponse ToResponse(const PushOutcome& outcome) const;
  /// Fails if the system has no more threads.
  [[nodiscard]] absl::Status BeginThread();
  [[nodiscard]] absl::Status SourceGone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// REQUIRES: `placed_`.
  [[nodiscard]] absl::Status TooSlow(std::chrono::nanoseconds limit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The functions below run on the call's thread.
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  /// An error ends the call.
  [[nodiscard]] absl::Status Handle() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status TakePlace() ABSL_LOCKS_EXCLUDED(mu_);
  void Push(const v1::PushedFrame& frame);
  [[nodiscard]] absl::Status PushInto(const v1::PushedFrame& frame,
                                      const std::shared_ptr<PushedFrame>& ticket);

  // Constant after construction.
  const Streams& streams_;
  Subscribers& subscribers_;
  grpc::CallbackServerContext& context_;

  // Self-synchronized.
  const std::shared_ptr<PushOutbox> outbox_;

  grpc::ByteBuffer received_;  // Used by gRPC or the call's thread, see `reading_`.
  v1::PushRequest request_;    // Used by the call's thread.
  grpc::ByteBuffer sent_;      // gRPC reads it while `sending_`.

  // Used by the call's thread until the call ends. Constant once `placed_`.
  SharedStream stream_;
  Carried carried_;
  std::unique_ptr<ingest::Pusher> pusher_;

  Mutex mu_;
  CondVar changed_;
  Reading reading_ ABSL_GUARDED_BY(mu_) = Reading::kReading;
  bool placed_ ABSL_GUARDED_BY(mu_) = false;   // The stream has accepted the call.
  bool opened_ ABSL_GUARDED_BY(mu_) = false;   // The initial metadata is sent or being sent.
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;  // A thread starts operations, or has ended the call.
  bool sending_ ABSL_GUARDED_BY(mu_) = false;  // Metadata or a message is being sent.
  std::chrono::nanoseconds since_ ABSL_GUARDED_BY(mu_){0};  // Start of `sending_` or `finished_`.
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;  // gRPC has called OnDone().

  std::jthread thread_;  // Starts with the first request.
};

}  // namespace millrace::service
