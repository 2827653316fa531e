#include "pipeline/timeline/chrome_trace.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace millrace::pipeline {
namespace {

// Processes and tracks are counted from 1, and tracks through all processes. Viewers treat 0
// specially, and some merge tracks of the same number in different processes.
class TraceText {
 public:
  explicit TraceText(double unit_us) : unit_us_(unit_us) {}

  void Add(const TraceProcess& process) {
    ++process_;
    Name("process_name", 0, process.name);
    std::size_t devices = 0;
    for (const TimelineEvent& event : process.events) devices = std::max(devices, event.device + 1);
    for (std::size_t device = 0; device < devices; ++device) {
      Name("thread_name", device, absl::StrCat("device ", device));
      if (process.copies.empty()) continue;
      Name("thread_name", devices + device, absl::StrCat("copies from device ", device));
    }
    for (const TimelineEvent& event : process.events) {
      Complete(ToString(event.step), pipeline::Name(event.step.kind), event.device, event);
    }
    for (const CopyEvent& copy : process.copies) {
      Complete(absl::StrCat("copy ", ToString(copy.step)), "copy", devices + copy.from_device,
               copy);
    }
    first_track_ += process.copies.empty() ? devices : 2 * devices;
  }

  [[nodiscard]] std::string Text() && { return absl::StrCat(text_, "\n]\n"); }

 private:
  void Name(std::string_view kind, std::size_t track, std::string_view name) {
    Begin();
    absl::StrAppendFormat(&text_,
                          R"({"name":"%s","ph":"M","pid":%d,"tid":%d,"args":{"name":"%s"}})", kind,
                          process_, first_track_ + track, name);
  }

  template <typename Event>
  void Complete(std::string_view name, std::string_view category, std::size_t track,
                const Event& event) {
    Begin();
    absl::StrAppendFormat(
        &text_,
        R"({"name":"%s","cat":"%s","ph":"X","ts":%.3f,"dur":%.3f,"pid":%d,"tid":%d,)"
        R"("args":{"sample":%d,"samples":%d,"stage":%d}})",
        name, category, event.span.start * unit_us_, (event.span.end - event.span.start) * unit_us_,
        process_, first_track_ + track, event.step.first, event.step.samples(), event.step.stage);
  }

  void Begin() { absl::StrAppend(&text_, text_ == "[" ? "\n" : ",\n"); }

  const double unit_us_;
  std::string text_ = "[";
  int process_ = 0;
  std::size_t first_track_ = 1;
};

}  // namespace

std::string ChromeTrace(const std::vector<TraceProcess>& processes, double unit_us) {
  TraceText text(unit_us);
  for (const TraceProcess& process : processes) text.Add(process);
  return std::move(text).Text();
}

}  // namespace millrace::pipeline
