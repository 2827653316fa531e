#include "pipeline/wires/link_probe.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"

namespace millrace::pipeline {
namespace {

// The first large message may find a connection that begins slowly, so the fastest counts.
constexpr std::array<std::size_t, 6> kProbes = {64, 64, 64, 500'064, 500'064, 500'064};
constexpr std::size_t kMoreBytes = kProbes.back() - kProbes.front();

}  // namespace

absl::StatusOr<nanoseconds> ProbeLink(Wires& wires, int rank, int tag) {
  const std::vector<std::byte> bytes(kProbes.back());
  nanoseconds small = nanoseconds::max();
  nanoseconds large = nanoseconds::max();
  for (const std::size_t size : kProbes) {
    std::array<std::byte, 8> answer{};
    const auto answered = wires.Receive(rank, tag + 1, answer);
    const nanoseconds start = MonotonicClock().Now();
    const auto sent = wires.Send(rank, tag, std::span(bytes).first(size));
    MILLRACE_RETURN_IF_ERROR(answered->Wait());
    const nanoseconds took = MonotonicClock().Now() - start;
    MILLRACE_RETURN_IF_ERROR(sent->Wait());
    nanoseconds& fastest = size == kProbes.front() ? small : large;
    fastest = std::min(fastest, took);
  }
  const auto more = std::max(nanoseconds(0), large - small);
  return nanoseconds(more.count() * 1'000'000 / static_cast<std::int64_t>(kMoreBytes));
}

absl::Status AnswerProbe(Wires& wires, int rank, int tag) {
  std::vector<std::byte> bytes(kProbes.back());
  const std::array<std::byte, 8> answer{};
  for (const std::size_t size : kProbes) {
    MILLRACE_RETURN_IF_ERROR(wires.Receive(rank, tag, std::span(bytes).first(size))->Wait());
    MILLRACE_RETURN_IF_ERROR(wires.Send(rank, tag + 1, answer)->Wait());
  }
  return absl::OkStatus();
}

}  // namespace millrace::pipeline
