// A stream of each kind that has metrics of its own.
#pragma once

#include "pipeline/decisions/sample_label.h"
#include "service/access/call_counts.h"
#include "tests/service/support/borrowed_streams.h"
#include "tests/service/support/web_fakes.h"

namespace millrace::service {

/// Flow, flow that is compared with another method and computed on a GPU, flow over several hosts,
/// classes and values; all keep checkpoints.
struct EveryKindOfStream {
  EveryKindOfStream() {
    compared.CompareWith("dis");
    compared.PutOn({{.device = "cuda:0",
                     .allocated_bytes = 1e6,
                     .reserved_bytes = 2e6,
                     .free_bytes = 3e6,
                     .total_bytes = 8e6}});
    const auto learns = [](FakeCameraStream& stream, pipeline::LabelTask task) {
      stream.Set([task](StreamSnapshot& snapshot) { snapshot.labels = {.task = task}; });
    };
    hosts.Set([](StreamSnapshot& snapshot) {
      snapshot.ranks = {
          .expected = 2,
          .joined = 2,
          .links = {{.from = 1, .to = 0, .bytes = 9}, {.from = 0, .to = 1, .bytes = 7}}};
      snapshot.links = {{.from = 1, .to = 0, .share = 0.5}, {.from = 0, .to = 1, .share = 0.1}};
    });
    learns(classes, pipeline::LabelTask::kClassification);
    learns(values, pipeline::LabelTask::kRegression);
    for (FakeCameraStream* stream : {&flow, &compared, &hosts, &classes, &values}) {
      stream->Set([](StreamSnapshot& snapshot) {
        snapshot.learning.checkpoints.kept_until = std::chrono::seconds(1);
      });
    }
    calls.Expect({"millrace.v1.StreamService/GetStream"});
  }

  CallCounts calls;
  FakeClock clock;
  FakeCameraStream flow{"flow"};
  FakeCameraStream compared{"compared"};
  FakeCameraStream hosts{"hosts"};
  FakeCameraStream classes{"classes"};
  FakeCameraStream values{"values"};
  StreamRecord record{clock, clock.Now()};
  BorrowedStreams streams = {
      {flow, record}, {compared, record}, {hosts, record}, {classes, record}, {values, record}};
};

}  // namespace millrace::service
