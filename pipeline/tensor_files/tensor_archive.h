// A file of torch.save() or TorchScript: a zip of pickles, and of the bytes of their tensors.
//
// LibTorch believes a pickle that says how large a tensor is, and reads and writes behind its bytes
// where the file was cut or changed. So each tensor is held against the bytes that there are before
// anything of it is used.
#pragma once

#include <ATen/core/ivalue.h>
#include <caffe2/serialize/inline_container.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace millrace::pipeline {

/// One file, in memory. LibTorch's exceptions, of the constructor too, are the caller's to catch.
/// Not thread-safe.
class TensorArchive {
 public:
  /// Throws where `bytes` are no zip of LibTorch's.
  explicit TensorArchive(std::string bytes);

  /// What "NAME.pkl" holds; its tensors' bytes are in the folder "NAME". An object is one of a
  /// class without methods, whose only slot is its state. INVALID_ARGUMENT, with words that follow
  /// the file's name, if a tensor needs more bytes than it has, or is quantized or sparse.
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
