#include "ingest/frame/pacer.h"

namespace millrace::ingest {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kFurthestBehind = std::chrono::seconds(1);

}  // namespace

nanoseconds Pacer::Due(nanoseconds stream_time, std::optional<nanoseconds> duration,
                       nanoseconds now) {
  if (!last_due_) {
    offset_ = now - stream_time;
  } else if (round_begins_) {
    offset_ = *last_due_ + interval_ - stream_time;
  } else {
    interval_ = stream_time - last_stream_time_;
  }
  if (now - (offset_ + stream_time) > kFurthestBehind) offset_ = now - stream_time;
  if (duration) interval_ = *duration;
  round_begins_ = false;
  last_stream_time_ = stream_time;
  last_due_ = offset_ + stream_time;
  return *last_due_;
}

}  // namespace millrace::ingest
