// Holds the versions of a stage's weights that samples in flight still need.
//
// Autograd's stored graph keeps the parameters, and views of them, but no values: a backward reads
// the current contents of their memory. So this class puts another version's memory behind the
// parameters for a while, without any copy. A bfloat16 network (precision.h) is different: its
// graph keeps the forward's converted copies, and a backward reads those, whatever version it
// should read.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// A ring of versions. Version 0 is the parameters' content at construction.
///
/// With one version it holds no memory and Use() does nothing: updates work in place. Then one
/// thread may read the parameters while another one advances, in the order of the plan. Otherwise
/// not thread-safe.
class WeightVersions {
 public:
  /// REQUIRES: versions > 0. `parameters` share no memory with parameters of another stage.
  WeightVersions(const std::vector<at::Tensor>& parameters, int versions);
  /// Leaves the newest version in the parameters.
  ~WeightVersions() = default;

  WeightVersions(const WeightVersions&) = delete;
  WeightVersions& operator=(const WeightVersions&) = delete;

  [[nodiscard]] std::int64_t newest() const { return newest_; }
  [[nodiscard]] int held() const { return static_cast<int>(ring_.size()); }

  /// Makes a new version and uses it, so that an update can work on it in place. Fill() then copies
  /// the version before into it, by work on the device alone. REQUIRES: the newest version is in
  /// use.
  void Advance();
  /// REQUIRES: Advance() was called.
  void Fill();

  /// The place of a version among the held ones. Versions at the same place have the same memory.
  [[nodiscard]] std::int64_t PlaceOf(std::int64_t version) const {
    return version % static_cast<std::int64_t>(ring_.size());
  }

  /// A scope guard: puts one version behind the parameters, and the newest one back at its end.
  class Use {
   public:
    /// REQUIRES: `version` is held: it is one of the newest.
    Use(WeightVersions& versions, std::int64_t version) : versions_(versions) {
      versions_.Switch(version);
    }
    ~Use() { versions_.Switch(versions_.newest_); }

    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    WeightVersions& versions_;
  };

 private:
  void Switch(std::int64_t version);

  // The parameters' storages, without duplicates.
  std::vector<at::Storage> storages_;
  // The memory behind each storage, by version modulo the number of versions. The storages
  // themselves have the memory that is in use.
  std::vector<std::vector<at::DataPtr>> ring_;
  std::int64_t newest_ = 0;
  std::int64_t in_use_ = 0;
};

}  // namespace millrace::pipeline
