// A group of ranks over Gloo, which notices when a rank is lost.
//
// Between every two ranks there are two connections: one for data, and one for beats. A beat says
// that the rank is alive, has ended well, or has failed and why. A rank is lost if its connection
// closes without a last word, or if no beat arrives for a while. The data of a slow network cannot
// delay a beat.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "pipeline/ranks/c10d_wires.h"
#include "pipeline/wires/rank_group.h"

namespace millrace::pipeline {

class GlooGroup final : public RankGroup {
 public:
  struct Options {
    /// Where the ranks find each other's addresses.
    c10::intrusive_ptr<c10d::Store> store;
    /// Of this host, as the others reach it.
    std::string address;
    int rank = 0;
    std::int64_t epoch = 1;
    /// For messages: "process 17 on gpu2", by rank.
    std::vector<std::string> names = {};
    /// For each connection.
    std::chrono::milliseconds pair_limit = std::chrono::seconds(10);
    /// A rank without a beat for this long is lost.
    std::chrono::milliseconds lost_after = kUsualLostAfter;
  };

  /// Connects to all other ranks. Each of them must do the same. Throws.
  explicit GlooGroup(Options options);
  /// Tells the others that this rank has ended well, or why it has failed.
  ~GlooGroup() override;

  Wires& wires() override { return wires_; }
  [[nodiscard]] int rank() const override { return options_.rank; }
  [[nodiscard]] int size() const override { return static_cast<int>(options_.names.size()); }
  [[nodiscard]] std::int64_t epoch() const override { return options_.epoch; }
  [[nodiscard]] std::string name(int rank) const override { return options_.names[rank]; }
  [[nodiscard]] absl::Status lost() const override ABSL_LOCKS_EXCLUDED(mu_);
  void Show(std::string news) override ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] std::string NewsOf(int rank) const override ABSL_LOCKS_EXCLUDED(mu_);
  void Leave() override ABSL_LOCKS_EXCLUDED(mu_) {
    Fail(absl::CancelledError("it was asked to end"), Cause::kLeaving);
  }

 private:
  struct Beat;
  // Why the group is over.
  enum class Cause { kLost, kLeaving, kOwnFailure, kFailureElsewhere };
  // The other end of a connection for beats.
  struct Peer {
    int rank = 0;
    std::atomic<std::int64_t> heard_ns = 0;
    std::atomic<bool> has_left = false;       // Well.
    std::atomic<bool> has_said_last = false;  // Its sender has ended.
    std::jthread sender;
    std::jthread receiver;
  };
  // Passes an abort on to the other ranks.
  class GroupWires final : public Wires {
   public:
    explicit GroupWires(GlooGroup& group) : group_(group) {}
    std::unique_ptr<WireTransfer> Send(int rank, int tag,
                                       std::span<const std::byte> bytes) override {
      return group_.data_.Send(rank, tag, bytes);
    }
    std::unique_ptr<WireTransfer> Receive(int rank, int tag, std::span<std::byte> bytes) override {
      return group_.data_.Receive(rank, tag, bytes);
    }
    void Abort(const absl::Status& cause) override { group_.Fail(cause, Cause::kOwnFailure); }

   private:
    GlooGroup& group_;
  };

  [[nodiscard]] c10::intrusive_ptr<c10d::Backend> Connect(const std::string& purpose) const;
  // For messages: "rank 1 (process 17 on gpu2)".
  [[nodiscard]] std::string NameOf(int rank) const;
  [[nodiscard]] absl::Status Lost(int rank, const std::string& why) const;
  void Fail(const absl::Status& failure, Cause cause) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] absl::Status CauseOr(const absl::Status& lost) ABSL_LOCKS_EXCLUDED(mu_);
  [[nodiscard]] Beat NextBeat() ABSL_LOCKS_EXCLUDED(mu_);
  void SendBeats(Peer& peer) ABSL_LOCKS_EXCLUDED(mu_);
  void ReceiveBeats(Peer& peer);
  // OK, or which rank is silent.
  [[nodiscard]] absl::Status Silence() const;
  // Waits a little.
  [[nodiscard]] bool IsClosing() ABSL_LOCKS_EXCLUDED(mu_);
  void Watch();

  const Options options_;
  const Clock& clock_ = MonotonicClock();
  C10dWires data_;
  C10dWires beats_;
  GroupWires wires_;

  mutable Mutex mu_;
  CondVar changed_;
  bool is_closing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);           // The first one.
  Cause cause_ ABSL_GUARDED_BY(mu_) = Cause::kLost;     // Of the failure.
  std::vector<std::string> news_ ABSL_GUARDED_BY(mu_);  // By rank, with this one.

  std::vector<std::unique_ptr<Peer>> peers_;
  std::jthread watch_;
};

}  // namespace millrace::pipeline
