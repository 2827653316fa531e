#include "pipeline/offline/bench_turn.h"

#include <sys/resource.h>

#include <algorithm>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

double CpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void TurnLog::Admitted() {
  const MutexLock lock(mu_);
  admitted_.push_back(std::chrono::steady_clock::now());
}

void TurnLog::Predicted() {
  const MutexLock lock(mu_);
  predicted_.push_back({std::chrono::steady_clock::now(), CpuSeconds()});
}

void TurnLog::Worked(Work work) {
  const MutexLock lock(mu_);
  work_.push_back(work);
}

BenchTurn TurnLog::Figures(std::int64_t first, std::int64_t count, int devices) const {
  const MutexLock lock(mu_);
  MILLRACE_CHECK(first > 0 && count > 0);
  const Prediction& start = predicted_.at(first - 1);
  const Prediction& end = predicted_.at(first + count - 1);
  const double seconds = Seconds(end.time - start.time);
  const auto samples = static_cast<double>(count);
  BenchTurn turn{.samples_per_second = samples / seconds,
                 .delay_ms = 0,
                 .idle = {},
                 .cpu_ms_per_sample = 1e3 * (end.cpu_seconds - start.cpu_seconds) / samples};
  for (std::int64_t i = first; i < first + count; ++i) {
    turn.delay_ms += 1e3 * Seconds(predicted_.at(i).time - admitted_.at(i)) / samples;
  }
  if (devices == 0) return turn;
  double busy = 0;
  for (const Work& work : work_) {
    busy += std::max(0.0, Seconds(std::min(work.end, end.time) - std::max(work.start, start.time)));
  }
  turn.idle = 1 - busy / (devices * seconds);
  return turn;
}

}  // namespace millrace::pipeline
