#include "ingest/frame/raw_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::ingest {
namespace {

using ::testing::HasSubstr;

std::string WhatIsWrong(const RawPicture& picture) {
  return std::string(CheckRawPicture(picture).message());
}

TEST(RawPictureTest, HasAsManyBytesAsItsSizeTakes) {
  const std::vector<std::uint8_t> bytes(100);
  const auto first = [&](std::size_t count) { return std::span(bytes).first(count); };
  EXPECT_EQ(WhatIsWrong({.width = 4, .height = 2, .bytes = first(24)}), "");
  EXPECT_EQ(WhatIsWrong({.format = PixelFormat::kGray, .width = 4, .height = 2, .bytes = first(8)}),
            "");
  EXPECT_EQ(WhatIsWrong({.width = 4, .height = 2, .stride = 16, .bytes = first(32)}), "");
  // The last row without its padding.
  EXPECT_EQ(WhatIsWrong({.width = 4, .height = 2, .stride = 16, .bytes = first(28)}), "");
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = 2, .bytes = first(23)}),
              HasSubstr("has 23 bytes; 4 x 2 pixels of 3 and a stride of 12 make 24"));
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = 2, .bytes = first(25)}), HasSubstr("has 25"));
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = 2, .stride = 11, .bytes = first(24)}),
              HasSubstr("the stride is 11 bytes, and a row of 4 pixels has 12"));
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = 2, .stride = -12, .bytes = first(24)}),
              HasSubstr("the stride is -12"));
  EXPECT_THAT(WhatIsWrong({.width = 0, .height = 2, .bytes = {}}),
              HasSubstr("0 x 2; it must have pixels"));
  EXPECT_THAT(WhatIsWrong({.width = 4, .height = -2, .bytes = {}}),
              HasSubstr("it must have pixels"));
  EXPECT_THAT(WhatIsWrong({.width = 2'000'000'000, .height = 2'000'000'000, .bytes = {}}),
              HasSubstr("at most 16384 pixels wide"));
  EXPECT_THAT(WhatIsWrong({.width = 16'384, .height = 16'384, .bytes = {}}), HasSubstr("at most"));
}

}  // namespace
}  // namespace millrace::ingest
