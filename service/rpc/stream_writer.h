// A call that streams messages to one client, one at a time, and may take requests meanwhile.
//
// At most one write is outstanding. It bounds the memory of a slow client: while a message waits
// for the network, no other message is made for that client.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <chrono>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "service/rpc/caught.h"
#include "service/rpc/parse.h"
#include "service/rpc/self_deleting_reactor.h"
#include "service/rpc/status.h"
#include "service/rpc/streaming_calls.h"

namespace millrace::service {

// One thread at a time works for a call: it starts operations and ends the call. Otherwise the call
// could be destroyed between the choice of an operation and its start. Other threads set `again_`
// and return; the working thread looks again before it stops.
//
//   Pump(), an operation is done, cancelled
//        │
//        ▼
//      busy_? ── yes ──▶ again_ = true
//        │ no
//        ▼
//      Work(), until nothing has happened meanwhile:
//        1. unless a write is outstanding: ends the call, opens it, or writes the next message
//        2. reads, if the call takes requests
//
/// One streaming call. `Message`: a protobuf message, or bytes. `Reactor`: a gRPC reactor of bytes,
/// which may also read. Called by gRPC's threads and by StreamingCalls, which share it. It lives
/// until gRPC has called OnDone() and no call from StreamingCalls is in progress.
template <typename Message, typename Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>>
class StreamWriter : public Reactor, public StreamingCall {
 public:
  /// Registers `call` with `calls` and begins to work for it. If there are too many calls, refuses
  /// it. Returns the reactor for gRPC.
  static Reactor* Begin(std::shared_ptr<StreamWriter> call, grpc::CallbackServerContext& context);

  void Pump() final ABSL_LOCKS_EXCLUDED(mu_);
  void EndIfStalled(std::chrono::nanoseconds now, std::chrono::nanoseconds limit) final
      ABSL_LOCKS_EXCLUDED(mu_);

  void OnSendInitialMetadataDone(bool ok) final { OnOperationDone(ok); }
  void OnWriteDone(bool ok) final;
  void OnCancel() final ABSL_LOCKS_EXCLUDED(mu_);
  void OnDone() final;

 protected:
  /// kOpen is for StreamWriter alone.
  enum class Step { kNothing, kOpen, kMessage, kEnd };

  /// `calls` must outlive it.
  explicit StreamWriter(StreamingCalls& calls) : calls_(calls) {}

  /// Has the thread of `calls` pump the calls of topic().
  void Wake() { calls_.Wake(topic()); }

  // The working thread calls these five. So they never run on two threads at once.
  /// Whether the initial metadata may be sent.
  [[nodiscard]] virtual bool MayOpen() { return true; }
  /// Makes the next message, or sets the status that ends the call. No write is outstanding.
  virtual Step Advance(Message& message, absl::Status& end) = 0;
  /// Starts the next read, if it is due. A write may be outstanding.
  virtual void Read() {}
  /// The call ends: release the resources for further messages. False: it cannot end yet, because a
  /// thread works on a request; that thread later has the call pumped. Not called after `true`.
  [[nodiscard]] virtual bool Ending() { return true; }
  /// The error for a client that has read nothing for `limit`. Follows Ending().
  [[nodiscard]] virtual absl::Status Stalled(std::chrono::nanoseconds limit) = 0;

  /// The message was sent.
  virtual void Written() {}
  /// The call has ended on both sides.
  virtual void Over() {}

 private:
  void OnOperationDone(bool ok) ABSL_LOCKS_EXCLUDED(mu_);
  /// Whether this thread begins to work. Otherwise another one does.
  [[nodiscard]] bool BeginWork() ABSL_LOCKS_EXCLUDED(mu_);
  /// Whether to look again. Otherwise this thread no longer works.
  [[nodiscard]] bool WorkOn() ABSL_LOCKS_EXCLUDED(mu_);

  // REQUIRES: this thread works.
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  /// The next step. kMessage: in `bytes_`. kEnd: with `end`.
  Step Next(absl::Status& end) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status ToBytes();
  /// Opens the call, or writes.
  void Start(Step step) ABSL_LOCKS_EXCLUDED(mu_);
  /// REQUIRES: Ending() has returned true. No thread works for the call afterwards.
  void End(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  StreamingCalls& calls_;

  // Constant after Begin(). Owned by gRPC until OnDone().
  grpc::CallbackServerContext* context_ = nullptr;

  // Used by the thread that works.
  bool opened_ = false;
  absl::Status error_;  // Cancelled, Advance() has thrown, or its message was too large for gRPC.
  Message message_;
  grpc::ByteBuffer bytes_;  // gRPC reads it while a write is outstanding.

  Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;  // A thread works, or the call has ended.
  bool again_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;  // Metadata or a message is outstanding.
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;                  // gRPC has called OnDone().
  std::chrono::nanoseconds since_ ABSL_GUARDED_BY(mu_){0};  // Start of a write or of `ended_`.
};

template <typename Message, typename Reactor>
Reactor* StreamWriter<Message, Reactor>::Begin(std::shared_ptr<StreamWriter> call,
                                               grpc::CallbackServerContext& context) {
  StreamWriter* const reactor = call.get();
  reactor->context_ = &context;
  if (const absl::Status kept = reactor->calls_.Add(call); !kept.ok()) {
    MILLRACE_CHECK(reactor->Ending());
    reactor->Over();
    return new RefusedCall<Reactor>(kept);
  }
  reactor->Pump();
  return reactor;
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::Pump() {
  if (BeginWork()) Work();
}

template <typename Message, typename Reactor>
bool StreamWriter<Message, Reactor>::BeginWork() {
  const MutexLock lock(mu_);
  again_ = true;
  return !std::exchange(busy_, true);
}

template <typename Message, typename Reactor>
bool StreamWriter<Message, Reactor>::WorkOn() {
  const MutexLock lock(mu_);
  busy_ = std::exchange(again_, false);
  return busy_;
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::Work() {
  while (WorkOn()) {
    absl::Status end;
    const Step step = Next(end);
    if (step == Step::kEnd && Ending()) return End(end);
    if (step == Step::kOpen || step == Step::kMessage) Start(step);
    Read();
  }
}

template <typename Message, typename Reactor>
typename StreamWriter<Message, Reactor>::Step StreamWriter<Message, Reactor>::Next(
    absl::Status& end) {
  {
    const MutexLock lock(mu_);
    if (writing_) return Step::kNothing;
    if (cancelled_) error_ = absl::CancelledError("the call was cancelled");
  }
  Step step = Step::kEnd;
  if (error_.ok()) {
    if (!opened_ && MayOpen()) return Step::kOpen;
    error_ = Caught([&] {
      step = Advance(message_, end);
      return step == Step::kMessage ? ToBytes() : absl::OkStatus();
    });
  }
  if (error_.ok()) return step;
  end = error_;
  return Step::kEnd;
}

template <typename Message, typename Reactor>
absl::Status StreamWriter<Message, Reactor>::ToBytes() {
  if constexpr (std::is_same_v<Message, grpc::ByteBuffer>) {
    bytes_ = message_;  // Shares the bytes, without a copy.
    return absl::OkStatus();
  } else {
    // A new message, because Clear() would keep the memory of a large one.
    return Serialize(std::exchange(message_, Message()), bytes_);
  }
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::Start(Step step) {
  {
    const MutexLock lock(mu_);
    writing_ = true;
    since_ = MonotonicClock().Now();
  }
  opened_ = true;
  if (step == Step::kOpen) {
    this->StartSendInitialMetadata();
  } else {
    this->StartWrite(&bytes_);
  }
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::End(const absl::Status& status) {
  {
    const MutexLock lock(mu_);
    ended_ = true;
    since_ = MonotonicClock().Now();
  }
  this->Finish(ToGrpcStatus(status));
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnWriteDone(bool ok) {
  if (ok) Written();
  OnOperationDone(ok);
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnOperationDone(bool ok) {
  {
    const MutexLock lock(mu_);
    writing_ = false;
    cancelled_ |= !ok;
  }
  Pump();
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::EndIfStalled(std::chrono::nanoseconds now,
                                                  std::chrono::nanoseconds limit) {
  {
    const MutexLock lock(mu_);
    // The client has not even read the error. Cancelling frees the memory of the queued data.
    if (ended_ && !done_ && now - since_ >= kLastChance * limit) context_->TryCancel();
    if (busy_ || !writing_ || now - since_ < limit) return;
    busy_ = true;
  }
  if (!Ending()) return Work();  // The next check decides.
  // gRPC sends the status after the message that the client has not read yet.
  End(Stalled(limit));
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnCancel() {
  {
    const MutexLock lock(mu_);
    cancelled_ = true;
  }
  Pump();
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnDone() {
  {
    const MutexLock lock(mu_);
    done_ = true;
  }
  Over();
  calls_.Remove(*this);  // May destroy this.
}

}  // namespace millrace::service
