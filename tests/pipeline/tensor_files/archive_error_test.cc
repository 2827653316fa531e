#include "pipeline/tensor_files/archive_error.h"

#include <gtest/gtest.h>

namespace millrace::pipeline {
namespace {

// Four sentences of guesses stood in a message of one line.
TEST(ArchiveErrorTest, SaysWhatIsWrongWithTheFileAndNothingOfLibTorch) {
  EXPECT_EQ(
      ArchiveError("PytorchStreamReader failed reading zip archive: failed finding central "
                   "directory. This is an internal miniz error. If you are seeing this error, "
                   "there is a high likelihood that your checkpoint file is corrupted."),
      "PyTorch did not write it, or it was cut short");
  EXPECT_EQ(ArchiveError("PytorchStreamReader failed reading file data/0: bad CRC-32"),
            "it is damaged");
  EXPECT_EQ(ArchiveError("[enforce fail at inline_container.cc:230] . Attempted to read a PyTorch "
                         "file with version 99, but the maximum supported version is 10."),
            "a newer PyTorch wrote it");
  EXPECT_EQ(
      ArchiveError("isObject() INTERNAL ASSERT FAILED at \"/pytorch/ivalue_inl.h\":137, please "
                   "report a bug to PyTorch. Expected Object but got GenericDict"),
      "it holds values, as torch.save() writes them");
}

TEST(ArchiveErrorTest, OfAnythingElseKeepsTheFirstSentenceThatIsNotAboutLibTorchsCode) {
  EXPECT_EQ(ArchiveError("\nUnknown builtin op: mine::special.\nCould not find any similar ops.\n"),
            "Unknown builtin op: mine::special");
  EXPECT_EQ(ArchiveError("x INTERNAL ASSERT FAILED at \"/pytorch/a.cpp\":1, please report a bug to "
                         "PyTorch. Too many parts. Try again.\nException raised from f at a.cpp:1"),
            "Too many parts");
  EXPECT_EQ(ArchiveError("[enforce fail at a.cc:1] . out of room"), "out of room");
}

TEST(ArchiveErrorTest, IsNeverEmpty) {
  EXPECT_EQ(ArchiveError(""), "LibTorch cannot read it");
  EXPECT_EQ(ArchiveError("a INTERNAL ASSERT FAILED at \"b\":1, please report a bug to PyTorch. "),
            "LibTorch cannot read it");
}

}  // namespace
}  // namespace millrace::pipeline
