// The wires of a rank before the others have joined.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "absl/status/status.h"
#include "pipeline/wires/wires.h"

namespace millrace::pipeline {

/// Every transfer fails. Thread-safe.
class AbsentWires final : public Wires {
 public:
  std::unique_ptr<WireTransfer> Send(int /*rank*/, int /*tag*/,
                                     std::span<const std::byte> /*bytes*/) override {
    return std::make_unique<Failed>();
  }
  std::unique_ptr<WireTransfer> Receive(int /*rank*/, int /*tag*/,
                                        std::span<std::byte> /*bytes*/) override {
    return std::make_unique<Failed>();
  }
  void Abort(const absl::Status& /*cause*/) override {}

 private:
  struct Failed final : public WireTransfer {
    absl::Status Wait() override {
      return absl::UnavailableError("the other ranks have not joined");
    }
  };
};

}  // namespace millrace::pipeline
