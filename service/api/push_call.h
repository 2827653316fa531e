// One client's call of FrameService.Push: frames in, their outcomes out.
//
//   gRPC ─ request ─▶ the call's thread: decodes, pushes, may wait for room ─▶ stream
//   gRPC ◀─ outcome ─ Pump() ◀─ outbox ◀────────────── stream, learner
//
// The next request is read when the one before has been pushed, and only while few outcomes wait
// for the client: that is what holds it back.
//
// One thread at a time starts operations of gRPC's and ends the call: ended by another one, it
// could be gone before an operation that was decided on has begun. Who comes meanwhile leaves it to
// that thread, which looks again before it goes.
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

/// Called by gRPC's threads and by Subscribers, which share it: it lives until gRPC has called
/// OnDone() and no call of Subscribers is in progress.
class PushCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                       public Pumped {
 public:
  /// `streams` must outlive it, and `subscribers` its OnDone(). `context`: gRPC's own until then.
  PushCall(const Streams& streams, Subscribers& subscribers, grpc::CallbackServerContext& context);
  /// Once, when `subscribers` knows this call.
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
  /// Of the client's side. Who is not in kHandling leaves the request alone.
  enum class Reading {
    kReading,   ///< gRPC writes to `received_`.
    kHandling,  ///< The call's thread uses the request.
    kResting,   ///< The next one may be read.
    kOver,      ///< The client has closed its side, or is gone.
  };
  enum class Step { kNothing, kOpen, kRead, kWrite, kFinish };

  /// What to do next; where that is something, this thread still pumps. `outcome` is to be written
  /// at kWrite, and the call ends with `end` at kFinish. REQUIRES: this thread pumps.
  [[nodiscard]] Step NextStep(PushOutcome& outcome, absl::Status& end) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] Step Decide(PushOutcome& outcome, absl::Status& end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// With what the call ends now; nothing while it goes on.
  [[nodiscard]] std::optional<absl::Status> End() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnSent() ABSL_LOCKS_EXCLUDED(mu_);
  /// Making the message may throw what foreign libraries throw: then the call fails.
  void WriteOutcome(const PushOutcome& outcome) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] v1::PushResponse ToResponse(const PushOutcome& outcome) const;
  /// Fails where the system has no more threads.
  [[nodiscard]] absl::Status BeginThread();
  [[nodiscard]] absl::Status SourceGone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  /// REQUIRES: it has its place.
  [[nodiscard]] absl::Status TooSlow(std::chrono::nanoseconds limit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // On the call's thread.
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  /// Fails with what the call ends with.
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

  grpc::ByteBuffer received_;  // Of gRPC or of the call's thread, as `reading_` says.
  v1::PushRequest request_;    // Of the call's thread.
  grpc::ByteBuffer sent_;      // gRPC reads them while `sending_`.

  // Of the call's thread until the call ends; constant once it has its place.
  SharedStream stream_;
  Carried carried_;
  std::unique_ptr<ingest::Pusher> pusher_;

  Mutex mu_;
  CondVar changed_;
  Reading reading_ ABSL_GUARDED_BY(mu_) = Reading::kReading;
  bool placed_ ABSL_GUARDED_BY(mu_) = false;   // It has its place in the stream.
  bool opened_ ABSL_GUARDED_BY(mu_) = false;   // The client has been told so, or is being told.
  bool pumping_ ABSL_GUARDED_BY(mu_) = false;  // A thread starts operations, or has ended the call.
  bool sending_ ABSL_GUARDED_BY(mu_) = false;  // Metadata or a message is on its way.
  std::chrono::nanoseconds since_ ABSL_GUARDED_BY(mu_){0};  // Of `sending_`.
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;  // gRPC has let go of it.

  std::jthread thread_;  // Begins with the first request.
};

}  // namespace millrace::service
