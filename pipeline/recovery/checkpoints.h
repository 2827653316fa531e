// Keeps what a network has learned on disk, so that it goes on where it was after any end: a stop,
// a crash, kill -9, a full disk.
//
//   FOLDER/checkpoint-000000001999/stage-1.safetensors    each: temporary file, sync, rename
//                                  stage-2.safetensors
//                                  manifest.json          last: what has none is not complete
//
// A reader takes the newest one that is complete and whole. Nothing is trusted: every file's length
// and checksum stand in the manifest, and the manifest has a checksum of its own.
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
  /// How the network was cut: a file for each stage.
  Cuts cuts;
  /// Loss over that of no motion, of the window of predictions with which its weights were proven;
  /// 1: of none. The lower the better.
  double score = 1;
  /// It stays until it is removed, however many newer ones there are.
  bool kept = false;
  /// Whatever else there is to know, by name: counters, the schedule.
  std::map<std::string, std::string> facts = {};
};

/// The checkpoints of one stream. For one thread, and one process a folder.
class Checkpoints {
 public:
  struct Options {
    std::string folder;
    /// So many of the newest are kept, and the best besides. At least 1.
    int keep = 3;
  };

  /// Makes the folder if there is none, and keeps other processes out of it. `chain`: the network
  /// that they are of; read here only. Fails as the system says, and with FAILED_PRECONDITION if
  /// another has the folder, naming it.
  [[nodiscard]] static absl::StatusOr<Checkpoints> Open(const Options& options,
                                                        const LayerChain& chain);

  /// Writes one and then removes what is kept no longer. On failure those before are untouched, and
  /// what was written of this one is removed. A complete one of its name, which could not be read,
  /// is moved into a folder `replaced-` and the time. Fails with DATA_LOSS, writing nothing, unless
  /// every number of it is finite, and with the system's error, naming the file.
  /// REQUIRES: of the network's layers.
  absl::Status Write(const Checkpoint& checkpoint);

  /// Lets others have the folder: nothing is written any more.
  void Release() { lock_.reset(); }

  /// What Read() found.
  struct Found {
    std::optional<Checkpoint> newest;
    /// The newest's own.
    std::string folder = {};
    /// Why newer ones were passed over: each names its folder and what is wrong with it.
    std::vector<absl::Status> refused = {};
    /// The folders of the damaged ones of these.
    std::vector<std::string> damaged = {};
  };
  /// Folders of damaged checkpoints that are kept, the newest.
  static constexpr std::size_t kMostAside = 3;

  /// The newest that is complete and whole. Fails with FAILED_PRECONDITION if that one is of
  /// another network or version, naming the difference: its user must say whether to start anew.
  /// Those that cannot be read just now may be whole: Write() never removes them.
  [[nodiscard]] absl::StatusOr<Found> Read();

  /// Moves the damaged checkpoints that Read() found into a folder `damaged-` and the time, where
  /// no new one takes their place, and says so in the last of them in `found.refused`. Removes
  /// older such folders but for kMostAside and those with a checkpoint that is kept. What cannot be
  /// moved stays where it is.
  void SetRefusedAside(Found& found) const;

  /// As Open() and Read(), of a folder that may be another process's: nothing is made, kept or
  /// removed. Without a folder nothing is found.
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
