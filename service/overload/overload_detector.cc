#include "service/overload/overload_detector.h"

#include <algorithm>
#include <chrono>

namespace millrace::service {
namespace {

using std::chrono::seconds;

constexpr seconds kMinSpan{2};
// A span of a slow camera contains several frames, up to the maximum length.
constexpr double kMinFrames = 10;
constexpr seconds kMaxSpan{30};
constexpr seconds kDebounceTime{10};
constexpr int kMinSpans = 3;

// Shares of dropped frames. A span between these two limits is neutral.
constexpr double kOverloaded = 0.05;
constexpr double kKeepsUp = 0.01;
// Shares of the promised rate, or of the received rate if that is lower.
constexpr double kTooFew = 0.9;
constexpr double kEnough = 0.95;

double Seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

std::optional<bool> Between(double value, double no, double yes) {
  if (value <= no) return false;
  if (value >= yes) return true;
  return std::nullopt;
}

OverloadKind KindOfEffort(int update_every) {
  if (update_every == 0) return OverloadKind::kOnlyPredicts;
  return update_every == 1 ? OverloadKind::kNone : OverloadKind::kLearnsLess;
}

}  // namespace

std::string_view Name(OverloadKind kind) {
  switch (kind) {
    case OverloadKind::kNone:
      return "none";
    case OverloadKind::kLearnsLess:
      return "learns_less";
    case OverloadKind::kOnlyPredicts:
      return "only_predicts";
    case OverloadKind::kDrops:
      return "drops";
  }
  return "unknown";
}

void DebouncedFlag::Add(nanoseconds length, std::optional<bool> is_true) {
  if (is_true != !value_) {
    contradicted_ = nanoseconds(0);
    spans_ = 0;
    return;
  }
  contradicted_ += length;
  ++spans_;
  if (contradicted_ < kDebounceTime || spans_ < kMinSpans) return;
  value_ = !value_;
  contradicted_ = nanoseconds(0);
  spans_ = 0;
}

bool OverloadDetector::Record(const OverloadReading& reading) {
  if (!begin_) {
    begin_ = reading;
    working_ = reading.working;
    return false;
  }
  if (reading.now < begin_->now || reading.received < begin_->received ||
      reading.predicted < begin_->predicted || reading.pushed_out < begin_->pushed_out) {
    return false;
  }
  working_ = working_ && reading.working;
  const Span span{.length = reading.now - begin_->now,
                  .received = static_cast<double>(reading.received - begin_->received),
                  .predicted = static_cast<double>(reading.predicted - begin_->predicted),
                  .pushed_out = static_cast<double>(reading.pushed_out - begin_->pushed_out)};
  const bool enough = !working_ || span.received >= kMinFrames;
  if (span.length < kMinSpan || (!enough && span.length < kMaxSpan)) return false;
  Evaluate(span, reading);
  begin_ = reading;
  working_ = reading.working;
  return true;
}

void OverloadDetector::Evaluate(const Span& span, const OverloadReading& reading) {
  recent_.push_back(span);
  nanoseconds length{0};
  for (const Span& one : recent_) length += one.length;
  while (length - recent_.front().length >= kDebounceTime) {
    length -= recent_.front().length;
    recent_.pop_front();
  }
  update_every_ = reading.update_every;
  if (update_every_ > 1) reduced_to_ = update_every_;
  EvaluateKind(span, reading);
  EvaluatePromise(span, reading);
}

void OverloadDetector::EvaluateKind(const Span& span, const OverloadReading& reading) {
  const OverloadKind effort = working_ ? KindOfEffort(reading.update_every) : OverloadKind::kNone;
  const std::optional<bool> drops =
      working_ ? Between(span.pushed_out / std::max(span.received, 1.0), kKeepsUp, kOverloaded)
               : false;
  // A worse kind is never reported before a lesser one, nor longer.
  for (const OverloadKind kind : {OverloadKind::kLearnsLess, OverloadKind::kOnlyPredicts}) {
    at_least_[static_cast<std::size_t>(kind)].Add(span.length,
                                                  effort >= kind ? std::optional(true) : drops);
  }
  at_least_[static_cast<std::size_t>(OverloadKind::kDrops)].Add(span.length, drops);
}

void OverloadDetector::EvaluatePromise(const Span& span, const OverloadReading& reading) {
  if (!working_) {
    too_few_.Add(span.length, false);
    too_late_.Add(span.length, false);
    return;
  }
  const Promise& promise = reading.promise;
  const double seconds = Seconds(span.length);
  const double wanted = std::min(promise.frames_per_second, span.received / seconds);
  const double share = wanted > 0 ? span.predicted / seconds / wanted : 1;
  too_few_.Add(span.length, Between(-share, -kEnough, -kTooFew));
  if (promise.delay_s <= 0 || reading.delay_s <= 0) return too_late_.Add(span.length, false);
  too_late_.Add(span.length, Between(reading.delay_s, 1.25 * promise.delay_s + 0.005,
                                     1.5 * promise.delay_s + 0.01));
}

OverloadKind OverloadDetector::kind() const {
  for (auto kind = kOverloadKinds.rbegin(); kind != kOverloadKinds.rend(); ++kind) {
    if (at_least_[static_cast<std::size_t>(*kind)].value()) return *kind;
  }
  return OverloadKind::kNone;
}

Overload OverloadDetector::overload() const {
  Overload overload{.kind = kind(), .update_every = update_every_};
  if (overload.kind == OverloadKind::kLearnsLess) overload.update_every = reduced_to_;
  nanoseconds length{0};
  for (const Span& span : recent_) {
    length += span.length;
    overload.received_per_second += span.received;
    overload.predicted_per_second += span.predicted;
    overload.dropped_per_second += span.pushed_out;
  }
  if (length.count() == 0) return overload;
  for (double* const sum : {&overload.received_per_second, &overload.predicted_per_second,
                            &overload.dropped_per_second}) {
    *sum /= Seconds(length);
  }
  return overload;
}

}  // namespace millrace::service
