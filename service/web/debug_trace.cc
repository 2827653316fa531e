#include "service/web/debug_trace.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "pipeline/plan/past_operation.h"
#include "pipeline/timeline/chrome_trace.h"
#include "service/access/grpc_security.h"

namespace millrace::service {
namespace {

using std::chrono::nanoseconds;

constexpr double kSeconds = 5;
constexpr double kMaxSeconds = 3600;
constexpr double kMicrosecondsInAMillisecond = 1000;

HttpResponse Refusal(int status, std::string_view why) {
  return {.status = status, .body = absl::StrCat(std::string(why), "\n")};
}

struct StreamOperations {
  std::string stream;
  std::vector<pipeline::PastOperation> operations;
};

// The earliest start of all operations. Viewers would also draw the empty time before it.
nanoseconds Begin(const std::vector<StreamOperations>& streams) {
  nanoseconds begin = nanoseconds::max();
  for (const StreamOperations& of : streams) {
    for (const pipeline::PastOperation& one : of.operations) begin = std::min(begin, one.start);
  }
  return begin;
}

double Milliseconds(nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

std::string TraceOf(const std::vector<StreamOperations>& streams) {
  const nanoseconds begin = Begin(streams);
  std::vector<pipeline::TraceProcess> processes;
  for (const StreamOperations& of : streams) {
    pipeline::TraceProcess process{.name = of.stream, .events = {}};
    for (const pipeline::PastOperation& one : of.operations) {
      process.events.push_back({.device = one.device,
                                .step = one.step,
                                .span = {.start = Milliseconds(one.start - begin),
                                         .end = Milliseconds(one.end - begin)}});
    }
    processes.push_back(std::move(process));
  }
  return pipeline::ChromeTrace(processes, kMicrosecondsInAMillisecond);
}

// Nullopt: the text is no valid duration.
std::optional<nanoseconds> TimeAsked(const HttpRequest& request) {
  double seconds = kSeconds;
  const std::optional<std::string> text = request.Parameter("seconds");
  if (text && !absl::SimpleAtod(*text, &seconds)) return std::nullopt;
  if (!(seconds > 0 && seconds <= kMaxSeconds)) return std::nullopt;
  return std::chrono::round<nanoseconds>(std::chrono::duration<double>(seconds));
}

absl::StatusOr<std::vector<SharedStream>> StreamsAsked(const HttpRequest& request,
                                                       const StreamRegistry& streams) {
  const std::optional<std::string> name = request.Parameter("stream");
  if (!name) return streams.All();
  absl::StatusOr<SharedStream> found = streams.Find(*name);
  if (!found.ok()) return found.status();
  return std::vector<SharedStream>{*std::move(found)};
}

HttpResponse Answer(const HttpRequest& request, const StreamRegistry& streams, const Clock& clock) {
  if (!IsLoopback(request.remote_address)) {
    return Refusal(403,
                   "A trace is for the server's own machine: ask there, at 127.0.0.1, or through a "
                   "tunnel (ssh -L 9464:127.0.0.1:9464 HOST).");
  }
  const std::optional<nanoseconds> time = TimeAsked(request);
  if (!time) return Refusal(400, "seconds is a number above 0 and up to 3600, as in ?seconds=2.");
  const absl::StatusOr<std::vector<SharedStream>> asked = StreamsAsked(request, streams);
  if (!asked.ok()) return Refusal(404, std::string(asked.status().message()));
  const nanoseconds since = clock.Now() - *time;
  std::vector<StreamOperations> operations;
  for (const SharedStream& served : *asked) {
    operations.push_back({.stream = served->stream->config().name,
                          .operations = served->stream->OperationsSince(since)});
  }
  return {.content_type = "application/json",
          .body = TraceOf(operations),
          .headers = {{"Content-Disposition", "attachment; filename=\"millrace-trace.json\""}}};
}

}  // namespace

HttpRoute DebugTraceRoute(const StreamRegistry& streams, const Clock& clock) {
  return {"/debug/trace", [&streams, &clock](const HttpRequest& request) {
            return Answer(request, streams, clock);
          }};
}

}  // namespace millrace::service
