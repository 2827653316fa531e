// A file of torch.save() or TorchScript: a zip of pickles and of their tensors' bytes.
//
// LibTorch trusts the size that a pickle gives for a tensor. It reads and writes past the bytes if
// the file was cut or changed. So this class compares each tensor with the file's bytes before any
// use.
#pragma once

#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// One file, in memory. LibTorch's exceptions pass through, also from the constructor; the caller
/// must catch them. Not thread-safe.
class TensorArchive {
 public:
  /// Throws if `bytes` are not a zip of LibTorch's.
  explicit TensorArchive(std::string bytes);

  /// The content of "NAME.pkl"; its tensors' bytes are in the folder "NAME". An object becomes an
  /// object of a class without methods, whose only slot is its state. Fails with INVALID_ARGUMENT,
  /// in words that follow the file's name, if a tensor needs more bytes than the file has, or is
  /// quantized or sparse.
  [[nodiscard]] absl::StatusOr<c10::IValue> Read(const std::string& name);

  [[nodiscard]] bool Has(const std::string& record) { return records_.hasRecord(record); }
  /// The bytes, for LibTorch's own loaders.
  [[nodiscard]] std::shared_ptr<caffe2::serialize::ReadAdapterInterface> bytes() const {
    return bytes_;
  }

 private:
  // Shared with LibTorch's readers.
  const std::shared_ptr<caffe2::serialize::ReadAdapterInterface> bytes_;
  caffe2::serialize::PyTorchStreamReader records_;
};

}  // namespace millrace::pipeline
