// The tables of the keys, section by section, and the rules between keys.
#pragma once

#include "service/config/config.h"
#include "service/config/config_key.h"

namespace millrace::service {

/// The keys of the file, of an entry of `streams`, and of their sections.
[[nodiscard]] ConfigKeys FileKeys();
[[nodiscard]] ConfigKeys ListenKeys();
[[nodiscard]] ConfigKeys StreamKeys();
[[nodiscard]] ConfigKeys SourceKeys();
[[nodiscard]] ConfigKeys ModelKeys();
[[nodiscard]] ConfigKeys ScheduleKeys();
[[nodiscard]] ConfigKeys OptimizerKeys();
[[nodiscard]] ConfigKeys LearningKeys();
[[nodiscard]] ConfigKeys ScoreKeys();
[[nodiscard]] ConfigKeys CheckpointKeys();

/// The default width and height of a picture with a task of labels.
inline constexpr int kLabelPicture = 32;

/// Note each contradiction in what was read from the node, together with the file's defaults, in
/// the node's errors. CheckModel() REQUIRES: the task is not one of labels.
void CheckListen(const ConfigValue& file, const Listen& listen);
void CheckSource(const ConfigValue& stream, const StreamConfig& config);
void CheckModel(const ConfigValue& stream, const StreamConfig& config);
void CheckSchedule(const ConfigValue& stream, const StreamConfig& config);

/// Notes each key of `optimizer` that does not go with its kind, in the file or in an entry of
/// `streams`. Sets a default of the file aside in a stream whose kind it does not go with.
void CheckOptimizer(const ConfigValue& entry, StreamConfig& config);
/// Refuses a stream's own `clip_update` beside another kind than rmsprop, and turns a default off.
void CheckClipUpdate(const ConfigValue& stream, StreamConfig& config);

/// Notes each missing or contradictory setting of labels, and chooses the size of the pictures and
/// the number of outputs if they are not set. REQUIRES: a task of labels.
void CompleteLabels(const ConfigValue& entry, StreamConfig& stream);

/// Reads the file's node into `config`, which already has the defaults, and notes every error in
/// the node's errors.
void ReadConfig(const ConfigValue& root, Config& config);

/// Reads an entry of `streams` into `stream`, which already has the defaults, and completes it.
void ReadStream(const ConfigValue& entry, StreamConfig& stream);

}  // namespace millrace::service
