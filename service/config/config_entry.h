// A stream's entry of the configuration as JSON, as its author wrote it. Functions show, compare
// and change it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::service {

/// JSON carries whole numbers exactly from -kMaxExact to kMaxExact, because programs read them as
/// doubles.
inline constexpr std::int64_t kMaxExact = (std::int64_t{1} << 53) - 1;

/// The node as JSON, with keys in alphabetical order. Numbers and booleans keep their type. Other
/// scalars, and whole numbers beyond kMaxExact, become text.
[[nodiscard]] std::string EntryJson(const YAML::Node& node);

/// `entry` (JSON) as clients may see it: without the login of its URI.
[[nodiscard]] std::string ShownEntry(const std::string& entry);

/// Adds the parts that a client may leave out when it changes a stream. These are the name, and the
/// login that ShownEntry() removed, if the URI equals the shown URI of `current`. Returns `entry`
/// unchanged if it is no JSON object.
[[nodiscard]] std::string Completed(const std::string& entry, const std::string& name,
                                    const std::string& current);

/// Whether both entries have equal contents. The order of keys and the notation of numbers (10,
/// 10.0) do not matter.
[[nodiscard]] bool SameEntry(const std::string& entry, const std::string& other);

/// The keys, such as "model.network", whose values differ. Both arguments are effective settings
/// (StreamConfig::effective) of streams or of whole files.
[[nodiscard]] std::vector<std::string> DifferingKeys(const std::string& effective,
                                                     const std::string& other);

/// `entry` with the sections of `keys` (such as "model" for "model.network") replaced by those of
/// `other`.
[[nodiscard]] std::string WithSectionsOf(const std::string& entry, const std::string& other,
                                         const std::vector<std::string>& keys);

/// Whether `key` of a stream, such as "source.uri", belongs to its source.
[[nodiscard]] bool IsOfSource(std::string_view key);
/// Whether `key` is an option of its optimizer other than the kind.
[[nodiscard]] bool IsOptimizerOption(std::string_view key);
/// Whether `key` can change while the learner keeps its weights. Keys of the source, the learning
/// rate, the optimizer's options, and the choice of frames to learn from can.
[[nodiscard]] bool CanChangeWhileItLearns(std::string_view key);

/// The etag of an entry: equal for equal entries within this process. It reveals nothing about the
/// contents.
[[nodiscard]] std::string EtagOf(const std::string& entry);

}  // namespace millrace::service
