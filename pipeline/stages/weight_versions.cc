#include "pipeline/stages/weight_versions.h"

#include <algorithm>
#include <utility>

#include <ATen/ops/from_blob.h>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

// Runs in the calling thread's current stream, unlike an allocator's own copy.
void Copy(const at::DataPtr& from, const at::Storage& to) {
  const auto bytes = static_cast<std::int64_t>(to.nbytes());
  const auto options = at::TensorOptions(at::kByte).device(to.device());
  at::from_blob(to.mutable_data(), {bytes}, options)
      .copy_(at::from_blob(from.get(), {bytes}, options), /*non_blocking=*/true);
}

}  // namespace

WeightVersions::WeightVersions(const std::vector<at::Tensor>& parameters, int versions)
    : ring_(versions) {
  MILLRACE_CHECK(versions > 0);
  if (versions == 1) return;
  for (const at::Tensor& parameter : parameters) {
    const at::Storage& storage = parameter.storage();
    const bool known =
        std::any_of(storages_.begin(), storages_.end(),
                    [&](const at::Storage& other) { return other.is_alias_of(storage); });
    if (!known) storages_.push_back(storage);
  }
  for (auto& version : ring_) version.resize(storages_.size());
}

void WeightVersions::Advance() {
  MILLRACE_CHECK(in_use_ == newest_);
  ++newest_;
  if (ring_.size() == 1) {
    in_use_ = newest_;
    return;
  }
  std::vector<at::DataPtr>& next = ring_[newest_ % ring_.size()];
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const at::Storage& storage = storages_[i];
    c10::Allocator* allocator = c10::GetAllocator(storage.device_type());
    if (!next[i]) next[i] = allocator->allocate(storage.nbytes());
  }
  Switch(newest_);
}

void WeightVersions::Fill() {
  const std::vector<at::DataPtr>& before = ring_[PlaceOf(newest_ - 1)];
  for (std::size_t i = 0; i < storages_.size(); ++i) Copy(before[i], storages_[i]);
}

void WeightVersions::Switch(std::int64_t version) {
  const auto size = static_cast<std::int64_t>(ring_.size());
  if (size == 1 || version == in_use_) return;
  MILLRACE_CHECK(newest_ - size < version && version <= newest_);
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    ring_[in_use_ % size][i] = storages_[i].set_data_ptr(std::move(ring_[version % size][i]));
  }
  in_use_ = version;
}

}  // namespace millrace::pipeline
