#include "service/frames/prediction_ring.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"

namespace millrace::service {

// The listeners and their calls in progress. A call holds no lock, so a listener's removal waits
// for its calls to return.
struct PredictionRing::Listeners {
  struct Entry {
    std::function<void()> listener;
    int calls = 0;  // In progress.
    bool removed = false;
  };

  std::uint64_t Add(std::function<void()> listener) ABSL_LOCKS_EXCLUDED(mu) {
    MutexLock lock(mu);
    entries.emplace(next_id, std::make_shared<Entry>(Entry{std::move(listener)}));
    return next_id++;
  }

  void Remove(std::uint64_t id) ABSL_LOCKS_EXCLUDED(mu) {
    MutexLock lock(mu);
    const auto found = entries.find(id);
    Entry& entry = *found->second;
    entry.removed = true;
    while (entry.calls > 0) returned.wait(mu);
    entries.erase(found);
  }

  void CallAll() ABSL_LOCKS_EXCLUDED(mu) {
    for (const std::shared_ptr<Entry>& entry : BeginCalls()) {
      entry->listener();
      MutexLock lock(mu);
      --entry->calls;
      returned.notify_all();
    }
  }

  std::vector<std::shared_ptr<Entry>> BeginCalls() ABSL_LOCKS_EXCLUDED(mu) {
    std::vector<std::shared_ptr<Entry>> called;
    MutexLock lock(mu);
    for (const auto& [id, entry] : entries) {
      if (entry->removed) continue;
      ++entry->calls;
      called.push_back(entry);
    }
    return called;
  }

  Mutex mu;
  CondVar returned;
  // Entries are shared with the calls in progress.
  std::map<std::uint64_t, std::shared_ptr<Entry>> entries ABSL_GUARDED_BY(mu);
  std::uint64_t next_id ABSL_GUARDED_BY(mu) = 0;
};

PredictionRing::PredictionRing(std::size_t capacity)
    : capacity_(capacity), listeners_(std::make_shared<Listeners>()) {
  MILLRACE_CHECK(capacity > 0);
}

PredictionRing::~PredictionRing() = default;

void PredictionRing::Publish(std::shared_ptr<const Prediction> prediction) {
  {
    MutexLock lock(mu_);
    MILLRACE_CHECK(!closed_);
    predictions_.push_back(std::move(prediction));
    ++published_;
    DropSurplus();
  }
  listeners_->CallAll();
}

PredictionRing::Cursor PredictionRing::Begin() const {
  MutexLock lock(mu_);
  return published_;
}

void PredictionRing::DropSurplus() {
  const std::size_t wanted = held_.empty() ? capacity_ : std::max(capacity_, *held_.rbegin());
  while (predictions_.size() > wanted) predictions_.pop_front();
}

void PredictionRing::Hold(std::size_t depth) {
  const MutexLock lock(mu_);
  held_.insert(depth);
}

void PredictionRing::Release(std::size_t depth) {
  const MutexLock lock(mu_);
  held_.erase(held_.find(depth));
  DropSurplus();
}

PredictionRing::ReadResult PredictionRing::Read(Cursor& cursor, const ReadPolicy& policy) const {
  MutexLock lock(mu_);
  MILLRACE_CHECK(cursor <= published_);
  if (cursor == published_) return {};
  const std::uint64_t first = published_ - predictions_.size();
  const std::size_t depth = policy.newest ? 1 : std::min(predictions_.size(), policy.depth);
  const std::uint64_t next = std::max(cursor, published_ - depth);
  const std::uint64_t missed = next - cursor;
  cursor = next + 1;
  return {predictions_[next - first], missed};
}

std::shared_ptr<const Prediction> PredictionRing::Newest() const {
  MutexLock lock(mu_);
  return predictions_.empty() ? nullptr : predictions_.back();
}

void PredictionRing::EndWith(absl::Status why) {
  const MutexLock lock(mu_);
  end_ = std::move(why);
}

absl::Status PredictionRing::end() const {
  const MutexLock lock(mu_);
  return end_;
}

void PredictionRing::Close() {
  {
    MutexLock lock(mu_);
    if (closed_) return;
    closed_ = true;
  }
  listeners_->CallAll();
}

bool PredictionRing::closed() const {
  MutexLock lock(mu_);
  return closed_;
}

std::unique_ptr<PredictionRing::ListenerHandle> PredictionRing::Listen(
    std::function<void()> listener) {
  const std::uint64_t id = listeners_->Add(std::move(listener));
  // make_unique cannot call the private constructor.
  return std::unique_ptr<ListenerHandle>(new ListenerHandle(listeners_, id));
}

PredictionRing::ListenerHandle::ListenerHandle(std::shared_ptr<Listeners> listeners,
                                               std::uint64_t id)
    : listeners_(std::move(listeners)), id_(id) {}

PredictionRing::ListenerHandle::~ListenerHandle() { listeners_->Remove(id_); }

}  // namespace millrace::service
