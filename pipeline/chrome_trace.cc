#include "pipeline/chrome_trace.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millrace::pipeline {
namespace {

void AppendObject(std::string& text, const std::string& object) {
  absl::StrAppend(&text, text == "[" ? "\n" : ",\n", object);
}

std::string ThreadName(std::size_t track, const std::string& name) {
  return absl::StrFormat(R"({"name":"thread_name","ph":"M","pid":0,"tid":%d,"args":{"name":"%s"}})",
                         track, name);
}

// Names and categories are our own words: nothing in them needs escaping.
std::string Complete(const std::string& name, const std::string& category, std::size_t track,
                     Span span, const Step& step, double unit_us) {
  return absl::StrFormat(
      R"({"name":"%s","cat":"%s","ph":"X","ts":%.3f,"dur":%.3f,"pid":0,"tid":%d,)"
      R"("args":{"sample":%d,"samples":%d,"stage":%d}})",
      name, category, span.start * unit_us, (span.end - span.start) * unit_us, track, step.first,
      step.samples(), step.stage);
}

}  // namespace

std::string ChromeTrace(const std::vector<TimelineEvent>& events,
                        const std::vector<CopyEvent>& copies, double unit_us) {
  std::size_t devices = 0;
  for (const TimelineEvent& event : events) devices = std::max(devices, event.device + 1);
  std::string text = "[";
  for (std::size_t device = 0; device < devices; ++device) {
    AppendObject(text, ThreadName(device, absl::StrCat("device ", device)));
    if (copies.empty()) continue;
    AppendObject(text, ThreadName(devices + device, absl::StrCat("copies from device ", device)));
  }
  for (const TimelineEvent& event : events) {
    AppendObject(text, Complete(ToString(event.step), std::string(Name(event.step.kind)),
                                event.device, event.span, event.step, unit_us));
  }
  for (const CopyEvent& copy : copies) {
    AppendObject(text, Complete(absl::StrCat("copy ", ToString(copy.step)), "copy",
                                devices + copy.from_device, copy.span, copy.step, unit_us));
  }
  absl::StrAppend(&text, "\n]\n");
  return text;
}

}  // namespace millrace::pipeline
