// A call that streams messages to one client, one at a time.
//
// One outstanding write is what bounds a slow client: while its message waits for the network
// nothing else is made for it.
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

// What the call is doing. Whoever leaves kIdle or is called back by gRPC may start the next
// operation, so there is never more than one; who comes meanwhile leaves a note, `again_`.
//
//               metadata sent           nothing to send
//   kOpening ────────────────▶ kBusy ◀──────────────────▶ kIdle
//                              │  ▲   told of something     │
//                    a message │  │ written                 │ cancelled
//                              ▼  │                         │
//                             kWriting                      ▼
//                  the end, cancelled, stalled ─────▶ kFinishing
//
/// Called by gRPC's threads and by Subscribers, which share it: it lives until gRPC has called
/// OnDone() and no call of Subscribers is in progress. `Message`: what gRPC can serialise, or
/// bytes. `Reactor`: gRPC's own, of bytes, which may read, too.
template <typename Message, typename Reactor = grpc::ServerWriteReactor<grpc::ByteBuffer>>
class StreamWriter : public Reactor, public Pumped {
 public:
  /// Has `subscribers` keep `call`, and tells the client that the stream stands; or refuses the
  /// call where there are too many. Returns what gRPC is to be given.
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

  /// Makes the next message, or says with what the call ends. Never called by two threads at once.
  virtual Step Advance(Message& message, absl::Status& end) = 0;
  /// The message was taken by the network.
  virtual void Written() {}
  /// Why a client is let go that has taken nothing for `limit`.
  [[nodiscard]] virtual absl::Status Stalled(std::chrono::nanoseconds limit) = 0;
  /// No message will be made any more: what was kept for them can go. Once.
  virtual void Ending() {}
  /// The call is over, for the client as for us.
  virtual void Over() {}

 private:
  enum class State { kOpening, kBusy, kWriting, kIdle, kFinishing };

  void OnOperationDone(bool ok) ABSL_LOCKS_EXCLUDED(mu_);
  /// Advance(), which may throw what foreign libraries throw, and the bytes of its message.
  Step Make(absl::Status& end);
  [[nodiscard]] absl::Status ToBytes();
  /// REQUIRES: this thread made it kFinishing.
  void End(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mu_);
  /// REQUIRES: this thread made it kBusy.
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  /// From kBusy to kFinishing if cancelled, to kIdle if nothing came meanwhile. Returns whether to
  /// go on.
  [[nodiscard]] bool StayBusy() ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] bool BeginWork() ABSL_LOCKS_EXCLUDED(mu_);
  void Become(State state) ABSL_LOCKS_EXCLUDED(mu_);

  // Constant after construction.
  Subscribers& subscribers_;

  // Constant after Begin(), gRPC's own until OnDone().
  grpc::CallbackServerContext* context_ = nullptr;

  Message message_;
  grpc::ByteBuffer bytes_;  // gRPC reads them while kWriting.

  Mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kOpening;
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  bool again_ ABSL_GUARDED_BY(mu_) = false;
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  std::chrono::nanoseconds since_ ABSL_GUARDED_BY(mu_){0};  // Of kWriting and kFinishing.
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
    bytes_ = message_;  // Which are shared, not copied.
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
    if (state_ == State::kFinishing) return;  // It was stalled, and has been told so.
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
    // Told why, it has not taken even that: what is on its way to it is memory.
    if (state_ == State::kFinishing && !done_ && now - since_ >= kLastChance * limit) {
      context_->TryCancel();
    }
    if (state_ != State::kWriting || now - since_ < limit) return false;
    state_ = State::kFinishing;
    since_ = now;
  }
  // gRPC sends the status behind the message that the client has yet to take.
  End(ToGrpcStatus(Stalled(limit)));
  return true;
}

template <typename Message, typename Reactor>
void StreamWriter<Message, Reactor>::OnCancel() {
  {
    const MutexLock lock(mu_);
    cancelled_ = true;
    if (state_ != State::kIdle) return;  // The end of what is under way finishes the call.
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
