// Passes each file of some folders to a fuzz target, once: fixed bugs stay fixed.
//
//   fuzz_NAME FOLDER...
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "tests/fuzz/fuzzer.h"

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      std::cerr << entry.path().filename().string() << "\n";  // The last one, where it stops.
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++files;
    }
  }
  if (files > 0) return 0;
  std::cerr << "there is no file in the folders that were named\n";
  return 1;
}
