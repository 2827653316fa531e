// Stores a network's state on disk. So it can resume after any end: a stop, a crash, kill -9, a
// full disk.
//
//   FOLDER/checkpoint-000000001999/stage-1.safetensors    each: temporary file, sync, rename
//                                  stage-2.safetensors
//                                  manifest.json          last: without it, it is incomplete
//
// A reader takes the newest checkpoint that is complete and intact. The manifest holds the length
// and the checksum of every file, and its own checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pipeline/checkpoint/checkpoint_manifest.h"
#include "pipeline/checkpoint/folder_lock.h"
#include "pipeline/nn/layer.h"
#include "pipeline/nn/network_state.h"
#include "pipeline/plan/cuts.h"

namespace millrace::pipeline {

struct Checkpoint {
  NetworkState network;
  /// The stages of the network, with one file each.
  Cuts cuts;
  /// Loss divided by the zero-motion loss, over the window that proved these weights; 1 if they
  /// were not proven. Lower is better.
  double score = 1;
  /// It stays until a user removes it, regardless of newer ones.
  bool kept = false;
  /// More facts by name, such as counters and the schedule.
  std::map<std::string, std::string> facts = {};
};

/// The checkpoints of one stream. For one thread, and one process for each folder.
class Checkpoints {
 public:
  struct Options {
    std::string folder;
    /// The number of newest checkpoints to keep, besides the best. At least 1.
    int keep = 3;
  };

  /// Makes the folder if needed, and locks it against other processes. `chain`: the network of the
  /// checkpoints; only read here. Fails with the system's error. Fails with FAILED_PRECONDITION,
  /// naming the folder, if another owner holds it.
  [[nodiscard]] static absl::StatusOr<Checkpoints> Open(const Options& options,
                                                        const LayerChain& chain);

  /// Writes a checkpoint, then removes the old ones. On failure, earlier ones are untouched, and
  /// the new files are removed. A complete checkpoint of the same name, which was unreadable, moves
  /// into a folder `replaced-` with the time. Fails with DATA_LOSS, writing nothing, unless every
  /// number is finite, and with the system's error, naming the file. REQUIRES: the checkpoint has
  /// the network's layers.
  absl::Status Write(const Checkpoint& checkpoint);

  /// Unlocks the folder for other owners. No Write() may follow.
  void Release() { lock_.reset(); }

  /// The result of Read().
  struct Found {
    std::optional<Checkpoint> newest;
    /// The folder of `newest`.
    std::string folder = {};
    /// Why newer checkpoints were rejected. Each names its folder and the error.
    std::vector<absl::Status> refused = {};
    /// The folders of the damaged checkpoints among these.
    std::vector<std::string> damaged = {};
  };
  /// The number of folders with damaged checkpoints to keep, newest first.
  static constexpr std::size_t kMaxAside = 3;

  /// The newest checkpoint that is complete and intact. Fails with FAILED_PRECONDITION if it
  /// belongs to another network or version, naming the difference; the user must decide whether to
  /// start again. Temporarily unreadable checkpoints may be intact: Write() never removes them.
  [[nodiscard]] absl::StatusOr<Found> Read();

  /// Moves the damaged checkpoints of Read() into a folder `damaged-` with the time, where no new
  /// one can overwrite them. Adds this to the last of them in `found.refused`. Removes older such
  /// folders, except kMaxAside and those with a kept checkpoint. A checkpoint that cannot be moved
  /// stays in place.
  void SetRefusedAside(Found& found) const;

  /// Like Open() and Read(), for a folder that another process may hold: makes, locks and removes
  /// nothing. Without a folder, the result is empty.
  [[nodiscard]] static absl::StatusOr<Found> Find(const Options& options, const LayerChain& chain);

 private:
  Checkpoints(Options options, std::vector<LayerShape> layers, std::optional<FolderLock> lock)
      : options_(std::move(options)), layers_(std::move(layers)), lock_(std::move(lock)) {}

  [[nodiscard]] absl::StatusOr<Checkpoint> ReadOne(const std::string& folder) const;
  absl::Status WriteInto(const std::string& folder, const Checkpoint& checkpoint) const;
  [[nodiscard]] absl::Status MakeRoomFor(const std::string& folder);
  void Prune(const std::string& newest) const;
  [[nodiscard]] bool CannotBeRead(const std::string& folder) const;

  Options options_;
  std::vector<LayerShape> layers_;
  std::optional<FolderLock> lock_;
  /// Folders that Read() could not read.
  std::set<std::string> passed_over_;
};

}  // namespace millrace::pipeline
