// A camera that comes back again and again leaves no names behind.
#include <glib.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/ingest/camera_tests.h"
#include "tests/ingest/rtsp_process.h"

namespace millrace::ingest {
namespace {

/// How many names GLib keeps, this one among them.
unsigned int NamesKept(const std::string& name) { return g_quark_from_string(name.c_str()); }

void WaitForSession(Source& source, std::int64_t number) {
  while (source.queue().Pop().value().epoch < number) continue;
}

TEST(LastingNamesTest, ASessionLikeTheLastOneNamesNothingAnew) {
  const RtspProcess camera({"--frames", "5"});
  const auto source = Open(camera.url(), Patient());
  WaitForSession(*source, 3);
  const unsigned int before = NamesKept("before five sessions");
  WaitForSession(*source, 8);
  EXPECT_EQ(NamesKept("after five sessions") - before, 1U);
}

}  // namespace
}  // namespace millrace::ingest
