#include "ingest/frame/image_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/base/temporary_folder.h"

namespace millrace::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ImageFolderTest, CountsAsPeopleDo) {
  const std::vector<std::string> ordered = {"",    "1",    "2",  "10",  "a",     "a1",
                                            "a01", "a1b2", "a2", "a10", "a10b1", "a10b9",
                                            "a11", "b",    "b0", "b00", "b00.1", "b1"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      EXPECT_EQ(NaturallyLess(ordered[i], ordered[j]), i < j) << ordered[i] << " " << ordered[j];
    }
  }
  EXPECT_TRUE(NaturallyLess("99999999999999999999999998", "99999999999999999999999999"));
}

class ListImagesTest : public testing::Test {
 protected:
  std::vector<std::string> NamesIn(const std::string& path) {
    const absl::StatusOr<std::vector<std::string>> images = ListImages(path);
    EXPECT_TRUE(images.ok()) << images.status();
    std::vector<std::string> names;
    if (!images.ok()) return names;
    for (const std::string& image : *images) {
      names.push_back(std::filesystem::path(image).filename());
      EXPECT_TRUE(std::filesystem::exists(image)) << image;
    }
    return names;
  }

  const TemporaryFolder folder_;
};

TEST_F(ListImagesTest, AreThoseOfAFolderInNaturalOrder) {
  for (const char* name : {"f10.png", "f9.PNG", "f1.jpg", "f2.jpeg", "notes.txt", ".hidden.png"}) {
    static_cast<void>(folder_.Write(name, "x"));
  }
  std::filesystem::create_directory(folder_.path() / "f0.png");
  EXPECT_THAT(NamesIn(folder_.path()), ElementsAre("f1.jpg", "f2.jpeg", "f9.PNG", "f10.png"));
  EXPECT_THAT(NamesIn(folder_.path().string() + "/"), testing::SizeIs(4));
  EXPECT_THAT(NamesIn(folder_ / "f1*.[jp]*g"), ElementsAre("f1.jpg", "f10.png"));
  EXPECT_TRUE(NamesImages(folder_.path()));
  EXPECT_TRUE(NamesImages(folder_ / "*.png"));
  EXPECT_FALSE(NamesImages(folder_ / "f1.jpg"));
  EXPECT_FALSE(NamesImages(folder_ / "absent.avi"));
  // A video may be called so.
  EXPECT_FALSE(NamesImages(folder_.Write("movie[1].avi", "x")));
}

TEST_F(ListImagesTest, SaysWhatIsMissing) {
  const auto why = [](const std::string& path) { return ListImages(path).status(); };
  EXPECT_TRUE(absl::IsFailedPrecondition(why(folder_.path())));
  EXPECT_THAT(std::string(why(folder_.path()).message()), HasSubstr("the folder has no images"));
  EXPECT_THAT(std::string(why(folder_ / "*.png").message()), HasSubstr("match this pattern"));
  EXPECT_TRUE(absl::IsNotFound(why(folder_ / "absent/*.png")));
  EXPECT_THAT(std::string(why(folder_ / "absent/*.png").message()),
              HasSubstr("there is no folder"));
}

}  // namespace
}  // namespace millrace::ingest
