// The versions of a stage's weights that samples in flight still need.
//
// A graph that autograd stored keeps the parameters, and views of them, but no values: it meets
// whatever their memory holds when it goes backward. So to read another version is to put that
// version's memory behind the parameters for a while. Nothing is copied. Where a network computes
// in bfloat16 (precision.h) a graph keeps the copies in it that the forward made, and a backward
// meets those, whatever version it should read.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace millrace::pipeline {

/// A ring of versions. Version 0 is what the parameters hold at construction.
///
/// With one version it holds no memory and Use() does nothing: updates work in place. Then one
/// thread may read the parameters while another one advances, as the plan orders them; otherwise
/// not thread-safe.
class WeightVersions {
 public:
  /// REQUIRES: versions > 0. `parameters` share no memory with those of another stage.
  WeightVersions(const std::vector<at::Tensor>& parameters, int versions);
  /// Leaves the newest version in the parameters.
  ~WeightVersions() = default;

  WeightVersions(const WeightVersions&) = delete;
  WeightVersions& operator=(const WeightVersions&) = delete;

  [[nodiscard]] std::int64_t newest() const { return newest_; }
  [[nodiscard]] int held() const { return static_cast<int>(ring_.size()); }

  /// Makes a new version, which is in use then, for an update to work on in place; Fill() makes it
  /// equal to the one before, by work on the device alone.
  /// REQUIRES: the newest is in use.
  void Advance();
  /// REQUIRES: Advance() was called.
  void Fill();

  /// Where a version lies among those that are held: versions in the same place have the same
  /// memory.
  [[nodiscard]] std::int64_t PlaceOf(std::int64_t version) const {
    return version % static_cast<std::int64_t>(ring_.size());
  }

  /// Puts one version behind the parameters while it lives, then the newest again.
  class Use {
   public:
    /// REQUIRES: `version` is held: one of the newest ones.
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

  // Of the parameters, each once.
  std::vector<at::Storage> storages_;
  // By version modulo the number of them, the memory behind each storage. That in use lies with the
  // storages.
  std::vector<std::vector<at::DataPtr>> ring_;
  std::int64_t newest_ = 0;
  std::int64_t in_use_ = 0;
};

}  // namespace millrace::pipeline
