// A camera that comes back again and again leaves no names behind.
#include <glib.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ingest/support/camera_tests.h"
#include "tests/ingest/support/rtsp_process.h"

namespace millrace::ingest {
namespace {

using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

/// The names that GLib keeps from number `begin` on.
std::vector<std::string> NamesSince(GQuark begin) {
  const GQuark end = g_quark_from_string("the last one");
  std::vector<std::string> names;
  for (GQuark number = begin; number < end; ++number) {
    names.emplace_back(g_quark_to_string(number));
  }
  return names;
}

void WaitForSession(Source& source, std::int64_t number) {
  while (source.queue().Pop().value().epoch < number) continue;
}

TEST(CameraNamesTest, ASessionLeavesNoNamesOfItsSourcesBehind) {
  const RtspProcess camera({"--frames", "5"});
  const GQuark begin = g_quark_from_string("before all sessions");
  const auto source = Open(camera.url(), Patient());
  WaitForSession(*source, 3);
  EXPECT_NE(g_quark_try_string("a-framerate"), 0U) << "no names are made of a description";
  EXPECT_THAT(NamesSince(begin), Not(Contains(StartsWith("ssrc-"))));
}

}  // namespace
}  // namespace millrace::ingest
