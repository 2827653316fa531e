// How a process introduces itself to the leader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

struct RankGreeting {
  /// Of the words that leader and processes exchange.
  int protocol = 0;
  std::string millrace;   ///< The version.
  std::string libtorch;   ///< The version.
  std::string processor;  ///< at::get_cpu_capability().
  std::string host;
  std::int64_t process = 0;
  std::string nonce;
  /// The rank that it wishes to have; 0: any.
  int wish = 0;

  /// "process 17 on gpu2".
  [[nodiscard]] std::string Name() const;
};

/// Of this process.
[[nodiscard]] RankGreeting OwnGreeting(const std::string& nonce, int wish = 0);

[[nodiscard]] std::string TextOf(const RankGreeting& greeting);
/// The greeting of TextOf(). Fails with DATA_LOSS if the text is damaged.
[[nodiscard]] absl::StatusOr<RankGreeting> GreetingOf(std::string_view text);

/// Fails with FAILED_PRECONDITION, naming both, unless that process computes the same numbers as
/// this one.
[[nodiscard]] absl::Status CheckSameProgram(const RankGreeting& greeting);

}  // namespace millrace::pipeline
