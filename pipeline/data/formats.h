// The files of three data sets that everybody has: scikit-learn's digits, MNIST, CIFAR-10.
//
// Each is read whole and checked: its size against what it says, its labels against the classes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pipeline/data/labelled_samples.h"

namespace millrace::pipeline {

/// scikit-learn's digits, as they lie in its wheel (sklearn/datasets/data/digits.csv.gz): a line of
/// 8 x 8 numbers of 0 to 16 and the digit for each sample. Compressed or not.
[[nodiscard]] absl::StatusOr<LabelledSamples> ReadDigits(const std::string& path);

/// MNIST, or another set in its format (idx): a file of images and one of labels, 0 to 9.
/// Compressed or not.
[[nodiscard]] absl::StatusOr<LabelledSamples> ReadMnist(const std::string& images,
                                                        const std::string& labels);

/// CIFAR-10's binary version: files of a byte that is the class and 3 x 32 x 32 bytes for each
/// sample, one after the other.
[[nodiscard]] absl::StatusOr<LabelledSamples> ReadCifar10(const std::vector<std::string>& paths);

/// Whichever of these the files are, by their names: one NAME.csv or NAME.csv.gz is the digits';
/// one NAME-images-idx3-ubyte or NAME-images-idx3-ubyte.gz is MNIST's, with NAME-labels-idx1-ubyte
/// beside it; NAME.bin are CIFAR-10's. INVALID_ARGUMENT, saying this, for other names; otherwise as
/// those fail: NOT_FOUND, or INVALID_ARGUMENT naming the file and what is wrong with it.
[[nodiscard]] absl::StatusOr<LabelledSamples> ReadDataSet(const std::vector<std::string>& paths);

}  // namespace millrace::pipeline
