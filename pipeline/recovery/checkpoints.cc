#include "pipeline/recovery/checkpoints.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/atomic_file.h"
#include "base/check.h"
#include "base/plural.h"
#include "base/status.h"
#include "pipeline/checkpoint/checkpoint_folders.h"
#include "pipeline/checkpoint/checksum.h"
#include "pipeline/nn/layer_tensors.h"
#include "pipeline/tensor_files/safetensors.h"

namespace millrace::pipeline {
namespace {

namespace fs = std::filesystem;

// An upper bound for the file of a stage: every number of the network in the widest format, names
// and counts. The optimizer has two more numbers for each.
std::uint64_t MaxBytesOf(const std::vector<LayerShape>& layers) {
  constexpr double kOfNumber = 3 * sizeof(double);
  constexpr double kAround = 16 << 20;
  double bytes = kAround;
  for (const LayerShape& layer : layers) {
    for (const auto* shapes : {&layer.parameters, &layer.buffers}) {
      for (const std::vector<std::int64_t>& shape : *shapes) {
        bytes += kOfNumber * std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
      }
    }
  }
  return static_cast<std::uint64_t>(bytes);
}

constexpr char kDamaged[] = "damaged";
constexpr char kReplaced[] = "replaced";

/// The error of the checkpoint in `folder`, with its folder and the reason.
absl::Status Refused(const std::string& folder, const absl::Status& why) {
  const char* what =
      absl::IsDataLoss(why) ? " is damaged (" : " is passed over and stays in place (";
  return absl::Status(why.code(),
                      absl::StrCat(fs::path(folder).filename().string(), what, why.message(), ")"));
}

std::vector<std::vector<std::int64_t>> ShapesOf(const std::vector<at::Tensor>& tensors) {
  std::vector<std::vector<std::int64_t>> shapes;
  shapes.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) shapes.push_back(tensor.sizes().vec());
  return shapes;
}

std::vector<LayerShape> LayersOf(const LayerChain& chain) {
  std::vector<LayerShape> layers;
  layers.reserve(chain.layers.size());
  for (const auto& layer : chain.layers) {
    layers.push_back({.name = layer->name(),
                      .parameters = ShapesOf(layer->parameters()),
                      .buffers = ShapesOf(layer->buffers())});
  }
  return layers;
}

}  // namespace

absl::StatusOr<Checkpoints> Checkpoints::Open(const Options& options, const LayerChain& chain) {
  MILLRACE_CHECK(options.keep >= 1);
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot make the folder for checkpoints ",
                                                   options.folder, ": ", error.message()));
  }
  MILLRACE_ASSIGN_OR_RETURN(FolderLock lock, FolderLock::Take(options.folder));
  RemoveLeftovers(options.folder);
  MILLRACE_RETURN_IF_ERROR(CheckWritable(absl::StrCat(options.folder, "/", kManifestFile)));
  return Checkpoints(options, LayersOf(chain), std::move(lock));
}

absl::StatusOr<Checkpoints::Found> Checkpoints::Find(const Options& options,
                                                     const LayerChain& chain) {
  return Checkpoints(options, LayersOf(chain), std::nullopt).Read();
}

absl::Status Checkpoints::Write(const Checkpoint& checkpoint) {
  MILLRACE_CHECK(checkpoint.network.layers.size() == layers_.size());
  if (!AllFinite(checkpoint.network)) {
    return absl::DataLossError(absl::StrCat("not writing a checkpoint after sample ",
                                            checkpoint.network.sample,
                                            ": a number of it is not finite"));
  }
  const std::string folder =
      absl::StrCat(options_.folder, "/", CheckpointName(checkpoint.network.sample));
  MILLRACE_RETURN_IF_ERROR(MakeRoomFor(folder));
  absl::Status written = WriteInto(folder, checkpoint);
  if (!written.ok()) {
    RemoveCheckpoint(folder).IgnoreError();  // It has no manifest, so it counts as incomplete.
    return written;
  }
  Prune(folder);
  return absl::OkStatus();
}

// A complete checkpoint of the same name can exist only if it could not be read or set aside.
absl::Status Checkpoints::MakeRoomFor(const std::string& folder) {
  if (!IsComplete(folder)) return RemoveCheckpoint(folder);
  MILLRACE_RETURN_IF_ERROR(SetAside(options_.folder, {folder}, AsideName(kReplaced)));
  passed_over_.erase(folder);
  return absl::OkStatus();
}

absl::Status Checkpoints::WriteInto(const std::string& folder, const Checkpoint& checkpoint) const {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", folder));
  }
  MILLRACE_RETURN_IF_ERROR(SyncFolder(options_.folder));
  CheckpointManifest manifest{.sample = checkpoint.network.sample,
                              .score = checkpoint.score,
                              .network = layers_,
                              .stages = {},
                              .facts = checkpoint.facts};
  int first = 0;
  for (std::size_t stage = 0; stage <= checkpoint.cuts.size(); ++stage) {
    const int end =
        stage < checkpoint.cuts.size() ? checkpoint.cuts[stage] : static_cast<int>(layers_.size());
    const std::string bytes = EncodeSafeTensors(TensorsOf(checkpoint.network.layers, first, end));
    manifest.stages.push_back({.name = absl::StrCat("stage-", stage + 1, ".safetensors"),
                               .first_layer = first,
                               .end_layer = end,
                               .bytes = bytes.size(),
                               .checksum = Checksum(bytes)});
    MILLRACE_RETURN_IF_ERROR(
        WriteFileAtomically(absl::StrCat(folder, "/", manifest.stages.back().name), bytes));
    first = end;
  }
  // Before the manifest: otherwise a complete checkpoint could be pruned before it is marked as
  // kept.
  if (checkpoint.kept) MILLRACE_RETURN_IF_ERROR(Keep(folder));
  return WriteFileAtomically(absl::StrCat(folder, "/", kManifestFile), EncodeManifest(manifest));
}

absl::StatusOr<Checkpoint> Checkpoints::ReadOne(const std::string& folder) const {
  MILLRACE_ASSIGN_OR_RETURN(const CheckpointManifest manifest, ReadManifest(folder));
  if (const std::string difference = DifferenceOf(manifest.network, layers_); !difference.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the checkpoint ", folder, " is of another network: ", difference,
        "; configure that network again, or another folder to start from the beginning"));
  }
  Checkpoint checkpoint{.network = {.sample = manifest.sample, .layers = {}},
                        .cuts = {},
                        .score = manifest.score,
                        .facts = manifest.facts};
  for (const StageFile& file : manifest.stages) {
    if (file.bytes > MaxBytesOf(layers_)) {
      return absl::DataLossError(absl::StrCat("the manifest of ", folder, " says that ", file.name,
                                              " has ", file.bytes,
                                              " bytes: the whole network has fewer"));
    }
    MILLRACE_ASSIGN_OR_RETURN(const std::string bytes, ReadStageFile(folder, file));
    const absl::StatusOr<SafeTensors> tensors = DecodeSafeTensors(bytes);
    if (!tensors.ok()) {
      return absl::DataLossError(
          absl::StrCat(folder, "/", file.name, " cannot be used: ", tensors.status().message()));
    }
    if (file.first_layer > 0) checkpoint.cuts.push_back(file.first_layer);
    for (int layer = file.first_layer; layer < file.end_layer; ++layer) {
      checkpoint.network.layers.push_back(LayerOf(*tensors, layer));
    }
  }
  if (checkpoint.network.layers.size() != layers_.size()) {
    return absl::DataLossError(absl::StrCat("it has ",
                                            Plural(checkpoint.network.layers.size(), "layer"),
                                            " where ", layers_.size(), " are needed"));
  }
  if (!AllFinite(checkpoint.network)) {
    return absl::DataLossError("a number of it is not finite");
  }
  return checkpoint;
}

absl::StatusOr<Checkpoints::Found> Checkpoints::Read() {
  Found found;
  for (const std::string& folder : CheckpointsIn(options_.folder)) {
    if (!IsComplete(folder)) continue;  // Its writer was killed.
    absl::StatusOr<Checkpoint> checkpoint = ReadOne(folder);
    if (checkpoint.ok()) {
      found.newest = *std::move(checkpoint);
      found.folder = folder;
      return found;
    }
    if (absl::IsFailedPrecondition(checkpoint.status())) return checkpoint.status();
    found.refused.push_back(Refused(folder, checkpoint.status()));
    if (absl::IsDataLoss(checkpoint.status())) {
      found.damaged.push_back(folder);
    } else {
      passed_over_.insert(folder);
    }
  }
  return found;
}

void Checkpoints::SetRefusedAside(Found& found) const {
  if (found.damaged.empty()) return;
  const std::string name = AsideName(kDamaged);
  const absl::Status moved = SetAside(options_.folder, found.damaged, name);
  if (moved.ok()) PruneAside(options_.folder, kDamaged, kMaxAside);
  absl::Status& last = *std::find_if(found.refused.rbegin(), found.refused.rend(),
                                     [](const absl::Status& one) { return absl::IsDataLoss(one); });
  const std::string where = moved.ok() ? absl::StrCat("set aside in ", options_.folder, "/", name)
                                       : absl::StrCat("left in place: ", moved.message());
  last = absl::Status(last.code(), absl::StrCat(last.message(), "; ", where));
}

bool Checkpoints::CannotBeRead(const std::string& folder) const {
  return passed_over_.contains(folder) || IsUnreadable(CheckReadable(folder));
}

// Keeps the newest, the best, and the kept checkpoints. A damaged one stays until there are
// `options_.keep` newer ones. Unreadable checkpoints stay, and so do those newer than `newest`.
void Checkpoints::Prune(const std::string& newest) const {
  std::string best;
  double best_score = 0;
  int good = 0;
  std::vector<std::string> old;
  for (const std::string& folder : CheckpointsIn(options_.folder)) {
    if (folder > newest || CannotBeRead(folder)) continue;
    if (good >= options_.keep) old.push_back(folder);
    const absl::StatusOr<CheckpointManifest> manifest = ReadManifest(folder);
    if (!manifest.ok()) continue;
    ++good;
    if (!best.empty() && manifest->score >= best_score) continue;
    best = folder;
    best_score = manifest->score;
  }
  for (const std::string& folder : old) {
    if (folder == best || IsKept(folder)) continue;
    RemoveCheckpoint(folder).IgnoreError();  // The next Prune() tries again.
  }
}

}  // namespace millrace::pipeline
