#include "pipeline/stages/newest_values.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include "pipeline/nn/network_state.h"

namespace millrace::pipeline {

void NewestValues::Ask(const StagedNetwork& learning,
                       const std::function<void(std::int64_t updates)>& ask) {
  const MutexLock lock(mu_);
  at::set_num_threads(threads_);
  NetworkStore::Values newest;
  copier_.Do([&] {
    const at::NoGradGuard no_graph;
    newest = learning.store().Newest();
  });
  RestoreValues(newest.layers, network_);
  ask(newest.updates);
}

void NewestValues::Put(const std::vector<LayerState>& values) {
  const MutexLock lock(mu_);
  RestoreValues(values, network_);
}

}  // namespace millrace::pipeline
