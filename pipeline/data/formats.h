// Reads the files of three well-known data sets: scikit-learn's digits, MNIST, CIFAR-10.
//
// Each file is read whole and checked: its size against its header, its labels against the classes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/data/labelled_samples.h"

namespace millrace::pipeline {

/// scikit-learn's digits, in the format of its wheel (sklearn/datasets/data/digits.csv.gz). Each
/// line has 8 x 8 numbers of 0 to 16 and the digit of one sample. Compressed or not.
[[nodiscard]] absl::StatusOr<LabelledSamples> ReadDigits(const std::string& path);

/// MNIST, or another set in its format (idx): a file of images and one of labels, 0 to 9.
/// Compressed or not.
[[nodiscard]] absl::StatusOr<LabelledSamples> ReadMnist(const std::string& images,
                                                        const std::string& labels);

/// CIFAR-10's binary version. Each sample is a byte with the class, and 3 x 32 x 32 bytes.
[[nodiscard]] absl::StatusOr<LabelledSamples> ReadCifar10(const std::vector<std::string>& paths);

/// Reads one of these data sets, chosen by file names. One NAME.csv or NAME.csv.gz: digits. One
/// NAME-images-idx3-ubyte or NAME-images-idx3-ubyte.gz, with NAME-labels-idx1-ubyte beside it:
/// MNIST. NAME.bin files: CIFAR-10. Fails with INVALID_ARGUMENT, listing these names, for others.
/// Otherwise fails as the functions above do: with NOT_FOUND, or with INVALID_ARGUMENT naming the
/// file and the error.
[[nodiscard]] absl::StatusOr<LabelledSamples> ReadDataSet(const std::vector<std::string>& paths);

}  // namespace millrace::pipeline
