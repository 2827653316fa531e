#include "pipeline/device/device_time.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/check.h"

namespace millrace::pipeline {
namespace {

using std::chrono::steady_clock;

// The CPU time of the calling thread so far, in milliseconds.
double ThreadMilliseconds() {
  timespec time = {};
  MILLRACE_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

// An event that records a time.
c10::Event TimedEvent(at::Device gpu) { return {gpu.type(), c10::EventFlag::BACKEND_DEFAULT}; }

void RecordNow(c10::Event& event, at::Device gpu) {
  event.record(c10::impl::VirtualGuardImpl(gpu.type()).getStream(gpu));
}

}  // namespace

double MillisecondsOf(at::Device device, absl::FunctionRef<void()> work) {
  if (device.is_cpu()) {
    const double start = ThreadMilliseconds();
    work();
    return ThreadMilliseconds() - start;
  }
  c10::Event begin = TimedEvent(device);
  c10::Event end = TimedEvent(device);
  RecordNow(begin, device);
  work();
  RecordNow(end, device);
  end.synchronize();
  return begin.elapsedTime(end);
}

GpuTimes::GpuTimes(at::Device gpu) : gpu_(gpu), origin_(TimedEvent(gpu)) {
  RecordNow(origin_, gpu_);
  origin_.synchronize();
  start_ = steady_clock::now();
}

void GpuTimes::Note(absl::FunctionRef<void()> work) {
  EventPair pair{TimedEvent(gpu_), TimedEvent(gpu_)};
  RecordNow(pair.begin, gpu_);
  work();
  RecordNow(pair.end, gpu_);
  const MutexLock lock(mu_);
  events_.push_back(std::move(pair));
}

std::vector<GpuTimes::Span> GpuTimes::Busy() {
  std::vector<EventPair> pairs;
  {
    const MutexLock lock(mu_);
    pairs.swap(events_);
  }
  const auto time_of = [this](const c10::Event& event) {
    event.synchronize();
    return start_ + std::chrono::duration_cast<steady_clock::duration>(
                        std::chrono::duration<double, std::milli>(origin_.elapsedTime(event)));
  };
  std::vector<Span> spans;
  for (const EventPair& pair : pairs) spans.push_back({time_of(pair.begin), time_of(pair.end)});
  return JoinSpans(std::move(spans));
}

std::vector<GpuTimes::Span> JoinSpans(std::vector<GpuTimes::Span> spans) {
  std::ranges::sort(spans, {}, &GpuTimes::Span::begin);
  std::vector<GpuTimes::Span> joined;
  for (const GpuTimes::Span& span : spans) {
    if (joined.empty() || joined.back().end < span.begin) {
      joined.push_back(span);
    } else {
      joined.back().end = std::max(joined.back().end, span.end);
    }
  }
  return joined;
}

}  // namespace millrace::pipeline
