// Decodes a file of tensors and encodes its content into another: safetensors_copy FROM TO. For
// safetensors_oracle_test.py.
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "pipeline/tensor_files/safetensors.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream from(argv[1], std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(from), {}};
  const auto content = millrace::pipeline::DecodeSafeTensors(bytes);
  if (!content.ok()) {
    std::cerr << content.status() << '\n';
    return 1;
  }
  std::ofstream(argv[2], std::ios::binary) << millrace::pipeline::EncodeSafeTensors(*content);
  return 0;
}
