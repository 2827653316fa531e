#include "service/overload/overload_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log_about.h"
#include "base/usable_cores.h"
#include "service/overload/overload_remedies.h"
#include "service/overload/overload_text.h"
#include "spdlog/spdlog.h"

namespace millrace::service {

Promise PromiseOf(const pipeline::LearnerDescription& learner, double camera_frames_per_second,
                  double max_frames_per_second) {
  Promise promise{.frames_per_second = learner.samples_per_second,
                  .delay_s = learner.delay_ms / 1000};
  for (const double bound : {camera_frames_per_second, max_frames_per_second}) {
    if (bound > 0) promise.frames_per_second = std::min(promise.frames_per_second, bound);
  }
  return promise;
}

OverloadWatch::Verdict OverloadWatch::Look(const Input& input) {
  const MutexLock lock(mu_);
  const OverloadKind before = overload_.kind;
  if (detector_.Record(input.reading)) Update(input);
  Verdict verdict{.overload = overload_, .promise = input.reading.promise};
  verdict.promise.rate_kept = detector_.rate_kept();
  verdict.promise.delay_kept = detector_.delay_kept();
  if (overload_.kind == before) return verdict;
  Log(verdict, input.reading);
  if (options_.on_overload) options_.on_overload(overload_);
  return verdict;
}

void OverloadWatch::Update(const Input& input) {
  overload_ = detector_.overload();
  const double idle = CoresIdleSince(input.reading.now);
  if (overload_.kind == OverloadKind::kNone) return;
  overload_.limiting_link = LimitingLink(input.loads, input.links);
  overload_.remedies =
      RemediesFor({.overload = overload_, .loads = input.loads, .idle_cores = idle}, input.config,
                  input.learner);
}

// 0 in the first span, which is not evaluated.
double OverloadWatch::CoresIdleSince(nanoseconds now) {
  const double seconds = std::chrono::duration<double>(now - std::exchange(read_at_, now)).count();
  const CpuTimes before = std::exchange(cpu_times_, options_.cpu_times());
  if (before.used_s == 0) return 0;
  return IdleCores(before, cpu_times_, seconds, UsableCores());
}

void OverloadWatch::Log(const Verdict& now, const OverloadReading& reading) const {
  const LogAbout about(options_.stream);
  if (now.overload.kind == OverloadKind::kNone) {
    spdlog::info("stream '{}': the overload is over", options_.stream);
    return;
  }
  const std::string broken =
      DescribeBrokenPromise(now.promise, now.overload.predicted_per_second, reading.delay_s);
  const std::string remedies = DescribeRemedies(now.overload);
  // The schedule auto is designed to learn less, and the banner may have announced it.
  const bool planned = now.overload.kind == OverloadKind::kLearnsLess;
  spdlog::log(planned ? spdlog::level::info : spdlog::level::warn,
              "stream '{}': overload: it {}{}{}{}{}", options_.stream,
              DescribeOverload(now.overload), remedies.empty() ? "" : "; ", remedies,
              broken.empty() ? "" : "; ", broken);
}

}  // namespace millrace::service
