#include "pipeline/ranks/c10d_wires.h"

#include <chrono>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "base/foreign_error.h"

namespace millrace::pipeline {
namespace {

at::Tensor Over(const std::byte* bytes, std::size_t size) {
  // c10d takes what it sends by a tensor that could change; it does not change it.
  auto* const memory =
      const_cast<std::byte*>(bytes);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return at::from_blob(memory, {static_cast<std::int64_t>(size)}, at::TensorOptions(at::kByte));
}

// A wait that ends by a limit closes its connection for good, and a camera may pause for days.
constexpr std::chrono::milliseconds kNever = std::chrono::hours(24 * 365 * 10);

// Gloo begins with the place in its source: "[/pytorch/.../pair.cc:538] Connection closed by peer".
std::string WithoutPlace(const std::string& text) {
  const std::size_t end = text.starts_with("[/") ? text.find("] ") : std::string::npos;
  return end == std::string::npos ? text : text.substr(end + 2);
}

}  // namespace

// One of c10d's operations.
class C10dWires::Posted final : public WireTransfer {
 public:
  Posted(C10dWires& wires, int rank, absl::Status failure)
      : wires_(wires), rank_(rank), failure_(std::move(failure)) {}
  Posted(C10dWires& wires, int rank, c10::intrusive_ptr<c10d::Work> work)
      : wires_(wires), rank_(rank), work_(std::move(work)) {}

  ~Posted() override {
    const MutexLock lock(wires_.mu_);
    wires_.under_way_.erase(work_.get());
  }

  absl::Status Wait() override {
    if (!failure_.ok()) return failure_;
    std::string why = "it was aborted";
    try {
      if (work_->wait(kNever)) return absl::OkStatus();
    } catch (const std::exception& e) {
      why = WithoutPlace(CauseLine(e.what()));
    }
    {
      const MutexLock lock(wires_.mu_);
      if (!wires_.aborted_.ok()) return wires_.aborted_;
    }
    return wires_.on_lost_(rank_, why);
  }

 private:
  C10dWires& wires_;
  const int rank_;
  const absl::Status failure_;
  const c10::intrusive_ptr<c10d::Work> work_;
};

C10dWires::C10dWires(c10::intrusive_ptr<c10d::Backend> group, OnLost on_lost)
    : group_(std::move(group)), on_lost_(std::move(on_lost)) {}

C10dWires::~C10dWires() = default;

// c10d is called without the lock: it may write to the network at once.
template <typename Begin>
std::unique_ptr<WireTransfer> C10dWires::Post(int rank, const Begin& begin) {
  {
    const MutexLock lock(mu_);
    if (!aborted_.ok()) return std::make_unique<Posted>(*this, rank, aborted_);
  }
  c10::intrusive_ptr<c10d::Work> work;
  try {
    work = begin();
  } catch (const std::exception& e) {
    return std::make_unique<Posted>(*this, rank, on_lost_(rank, WithoutPlace(CauseLine(e.what()))));
  }
  const MutexLock lock(mu_);
  under_way_.insert(work.get());
  if (!aborted_.ok()) work->abort();
  return std::make_unique<Posted>(*this, rank, std::move(work));
}

std::unique_ptr<WireTransfer> C10dWires::Send(int rank, int tag, std::span<const std::byte> bytes) {
  return Post(rank, [&] {
    std::vector<at::Tensor> tensors = {Over(bytes.data(), bytes.size())};
    return group_->send(tensors, rank, tag);
  });
}

std::unique_ptr<WireTransfer> C10dWires::Receive(int rank, int tag, std::span<std::byte> bytes) {
  return Post(rank, [&] {
    std::vector<at::Tensor> tensors = {Over(bytes.data(), bytes.size())};
    return group_->recv(tensors, rank, tag);
  });
}

void C10dWires::Abort(const absl::Status& cause) {
  const MutexLock lock(mu_);
  if (!aborted_.ok()) return;
  aborted_ = cause;
  for (c10d::Work* const work : under_way_) work->abort();
}

}  // namespace millrace::pipeline
