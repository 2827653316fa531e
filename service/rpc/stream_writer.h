// A call that streams messages to one client, one at a time.
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
#include "base/clock.h"
#include "base/mutex.h"
#include "service/rpc/caught.h"
#include "service/rpc/parse.h"
#include "service/rpc/pumped.h"
#include "service/rpc/refusal.h"
#include "service/rpc/status.h"
#include "service/rpc/subscribers.h"

namespace millrace::service {

// The states of a call. Only the thread that leaves kIdle, or a gRPC callback, may start the next
// operation, so at most one is outstanding. Other threads set `again_` and return.
//
//               metadata sent           nothing to send
//   kOpening ────────────────▶ kBusy ◀──────────────────▶ kIdle
//                              │  ▲   Pump()                │
//                    a message │  │ written                 │ cancelled
//                              ▼  │                         │
//                             kWriting                      ▼
//                  the end, cancelled, stalled ─────▶ kFinishing
//
/// Writes the messages of one streaming call. `Message`: a protobuf message, or bytes. `Reactor`: a
/// gRPC reactor of bytes, which may also read. Called by gRPC's threads and by Subscribers, which
/// share it. It lives until gRPC has called OnDone() and no call from Subscribers is in progress.
template <typename Message, typename Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>>
class StreamWriter : public Reactor, public Pumped {
 public:
  /// Registers `call` with `subscribers` and sends the initial metadata. If there are too many
  /// calls, refuses it. Returns the reactor for gRPC.
  static Reactor* Begin(std::shared_ptr<StreamWriter> call, grpc::CallbackServerContext& context);

  void Pump() final ABSL_LOCKS_EXCLUDED(mu_);
  bool EndIfStalled(std::chrono::nanoseconds now, std::chrono::nanoseconds limit) final
      ABSL_LOCKS_EXCLUDED(mu_);

  void OnSendInitialMetadataDone(bool ok) final { OnOperationDone(ok); }
  void OnWriteDone(bool ok) final;
  void OnCancel() final ABSL_LOCKS_EXCLUDED(mu_);
  void OnDone() final;

 protected:
  enum class Step { kNothing, kMessage, kEnd };

  /// `subscribers` must outlive it.
  explicit StreamWriter(Subscribers& subscribers) : subscribers_(subscribers) {}

  /// Makes the next message, or sets the status that ends the call. Never runs on two threads at
  /// once.
  virtual Step Advance(Message& message, absl::Status& end) = 0;
  /// The message was sent.
  virtual void Written() {}
  /// The error for a client that has read nothing for `limit`.
  [[nodiscard]] virtual absl::Status Stalled(std::chrono::nanoseconds limit) = 0;
  /// No more messages follow: release the resources for them. Called once.
  virtual void Ending() {}
  /// The call has ended on both sides.
  virtual void Over() {}

 private:
  enum class State { kOpening, kBusy, kWriting, kIdle, kFinishing };

  void OnOperationDone(bool ok) ABSL_LOCKS_EXCLUDED(mu_);
  /// Calls Advance(), which may throw, and serializes its message.
  Step Make(absl::Status& end);
  [[nodiscard]] absl::Status ToBytes();
  /// REQUIRES: this thread set kFinishing.
  void End(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  /// REQUIRES: this thread set kBusy.
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  /// From kBusy to kFinishing if cancelled, or to kIdle if `again_` is not set. Returns whether to
  /// continue.
  [[nodiscard]] bool StayBusy() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool BeginWork() ABSL_LOCKS_EXCLUDED(mu_);
  void Become(State state) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  Subscribers& subscribers_;

  // Constant after Begin(). Owned by gRPC until OnDone().
  grpc::CallbackServerContext* context_ = nullptr;

  Message message_;
  grpc::ByteBuffer bytes_;  // gRPC reads it during kWriting.

  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kOpening;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool again_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  std::chrono::nanoseconds since_ ABSL_GUARDED_BY(mu_){0};  // Start of kWriting or kFinishing.
};

template <typename Message, typename Reactor>
Reactor* StreamWriter<Message, Reactor>::Begin(std::shared_ptr<StreamWriter> call,
                                               grpc::CallbackServerContext& context) {
  StreamWriter* const reactor = call.get();
  reactor->context_ = &context;
  if (const absl::Status kept = reactor->subscribers_.Add(call); !kept.ok()) {
    reactor->Ending();
    reactor->Over();
    return new RefusedCall<Reactor>(kept);
  }
  reactor->StartSendInitialMetadata();
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
  if (state_ != State::kIdle) return false;
  state_ = State::kBusy;
  return true;
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::Work() {
  for (;;) {
    {
      const MutexLock lock(mu_);
      again_ = false;
    }
    absl::Status end;
    const Step step = Make(end);
    if (step == Step::kEnd) {
      Become(State::kFinishing);
      return End(ToGrpcStatus(end));
    }
    if (step == Step::kMessage) {
      Become(State::kWriting);
      return this->StartWrite(&bytes_);
    }
    if (!StayBusy()) return;
  }
}

template <typename Message, typename Reactor>
typename StreamWriter<Message, Reactor>::Step StreamWriter<Message, Reactor>::Make(
    absl::Status& end) {
  Step step = Step::kEnd;
  const absl::Status made = Caught([&] {
    step = Advance(message_, end);
    return step == Step::kMessage ? ToBytes() : absl::OkStatus();
  });
  if (made.ok()) return step;
  end = made;
  return Step::kEnd;
}

template <typename Message, typename Reactor>
absl::Status StreamWriter<Message, Reactor>::ToBytes() {
  if constexpr (std::is_same_v<Message, grpc::ByteBuffer>) {
    bytes_ = message_;  // Shares the bytes, without a copy.
    return absl::OkStatus();
  } else {
    return Serialize(message_, bytes_);
  }
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::End(const grpc::Status& status) {
  Ending();
  this->Finish(status);
}

template <typename Message, typename Reactor>
bool StreamWriter<Message, Reactor>::StayBusy() {
  {
    const MutexLock lock(mu_);
    if (!cancelled_) {
      if (!again_) state_ = State::kIdle;
      return again_;
    }
    state_ = State::kFinishing;
  }
  End(grpc::Status::CANCELLED);
  return false;
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::Become(State state) {
  const MutexLock lock(mu_);
  state_ = state;
  since_ = MonotonicClock().Now();
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnWriteDone(bool ok) {
  if (ok) Written();
  OnOperationDone(ok);
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnOperationDone(bool ok) {
  bool finish = false;
  {
    const MutexLock lock(mu_);
    if (state_ == State::kFinishing) return;  // EndIfStalled() has ended the call.
    finish = !ok || cancelled_;
    state_ = finish ? State::kFinishing : State::kBusy;
  }
  if (finish) {
    End(grpc::Status::CANCELLED);
  } else {
    Work();
  }
}

template <typename Message, typename Reactor>
bool StreamWriter<Message, Reactor>::EndIfStalled(std::chrono::nanoseconds now,
                                                  std::chrono::nanoseconds limit) {
  {
    const MutexLock lock(mu_);
    // The client has not even read the error. Cancelling frees the memory of the queued data.
    if (state_ == State::kFinishing && !done_ && now - since_ >= kLastChance * limit) {
      context_->TryCancel();
    }
    if (state_ != State::kWriting || now - since_ < limit) return false;
    state_ = State::kFinishing;
    since_ = now;
  }
  // gRPC sends the status after the message that the client has not read yet.
  End(ToGrpcStatus(Stalled(limit)));
  return true;
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnCancel() {
  {
    const MutexLock lock(mu_);
    cancelled_ = true;
    if (state_ != State::kIdle) return;  // The operation under way finishes the call.
    state_ = State::kFinishing;
  }
  End(grpc::Status::CANCELLED);
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnDone() {
  {
    const MutexLock lock(mu_);
    done_ = true;
  }
  Over();
  subscribers_.Remove(*this);  // May destroy this.
}

}  // namespace millrace::service
