#include "pipeline/recovery/snapshot_collector.h"

#include <iterator>
#include <utility>

#include "base/check.h"
#include "pipeline/stages/rank_states.h"

namespace millrace::pipeline {

namespace {

// The distance of stages is smaller, unless they learn from different samples at once.
constexpr std::size_t kMaxIncomplete = 4;

}  // namespace

SnapshotCollector::SnapshotCollector(int every, std::function<void(NetworkState)> on_complete)
    : every_(every), on_complete_(std::move(on_complete)) {
  MILLRACE_CHECK(every > 0);
}

void SnapshotCollector::OnUpdate(const StagedNetwork& network, const Step& update) {
  if (!IsCopied(update, every_)) return;
  std::vector<LayerState> layers = network.store().Save(update.stage);
  ByStage complete;
  {
    const MutexLock lock(mu_);
    ByStage& by_stage = collected_[update.last];
    by_stage[update.stage] = std::move(layers);
    if (static_cast<int>(by_stage.size()) < network.stage_count()) {
      if (collected_.size() > kMaxIncomplete) collected_.erase(collected_.begin());
      return;
    }
    complete = std::move(by_stage);
    collected_.erase(update.last);
  }
  NetworkState state{.sample = update.last, .layers = {}};
  for (auto& [number, own] : complete) {
    state.layers.insert(state.layers.end(), std::make_move_iterator(own.begin()),
                        std::make_move_iterator(own.end()));
  }
  on_complete_(std::move(state));
}

void SnapshotCollector::Restart() {
  const MutexLock lock(mu_);
  collected_.clear();
}

}  // namespace millrace::pipeline
