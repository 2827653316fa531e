// Writes the pictures of docs/schedules.md into a folder, and prints its table.
#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/atomic_file.h"
#include "base/status.h"
#include "service/commands/plan/schedule_pictures.h"

namespace millrace::service {
namespace {

absl::Status WritePictures(const std::string& folder) {
  MILLRACE_ASSIGN_OR_RETURN(const auto pictures, SchedulePictures());
  for (const auto& [schedule, svg] : pictures) {
    MILLRACE_RETURN_IF_ERROR(WriteFileAtomically(absl::StrCat(folder, "/", schedule, ".svg"), svg));
  }
  MILLRACE_ASSIGN_OR_RETURN(const std::string table, ScheduleFigures());
  std::cout << table;
  return absl::OkStatus();
}

}  // namespace
}  // namespace millrace::service

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: millrace_schedule_pictures FOLDER\n";
    return 2;
  }
  const absl::Status status = millrace::service::WritePictures(argv[1]);
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
