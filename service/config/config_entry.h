// A stream's entry of the configuration, kept as it was written: to be shown, compared and changed.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::service {

/// The whole numbers that a JSON number carries exactly are those from -kMostExact to kMostExact:
/// programs read it as a double.
inline constexpr std::int64_t kMostExact = (std::int64_t{1} << 53) - 1;

/// The node as JSON, keys in alphabetical order. Numbers and true and false stay such, all else is
/// text, and so are whole numbers beyond kMostExact, which JSON would not carry exactly.
[[nodiscard]] std::string EntryJson(const YAML::Node& node);

/// An entry (JSON) as it may be shown: without the login of its URI.
[[nodiscard]] std::string ShownEntry(const std::string& entry);

/// What a client wrote, with what it may leave out when it changes a stream: the name, and the
/// login that ShownEntry() took away, where the URI is that of `current` as shown. What is no
/// object stays as it is.
[[nodiscard]] std::string Completed(const std::string& entry, const std::string& name,
                                    const std::string& current);

/// Whether the two say the same, in whatever order, and however a number is written: 10 and 10.0.
[[nodiscard]] bool SameEntry(const std::string& entry, const std::string& other);

/// The keys of which not the same holds (StreamConfig::in_force), as "model.network", of streams or
/// whole files.
[[nodiscard]] std::vector<std::string> DifferingKeys(const std::string& in_force,
                                                     const std::string& other);

/// `entry` with the sections of which `keys` are, as "model", as `other` has them.
[[nodiscard]] std::string WithSectionsOf(const std::string& entry, const std::string& other,
                                         const std::vector<std::string>& keys);

/// Whether a key of a stream, as "source.uri", says where its frames come from.
[[nodiscard]] bool IsOfSource(std::string_view key);
/// Whether it can change while the learner keeps what it has learned: that of its source, of its
/// learning rate, and of which frames it learns from.
[[nodiscard]] bool CanChangeWhileItLearns(std::string_view key);

/// Stands for an entry: the same for the same, in this process. It tells nothing of what is in it.
[[nodiscard]] std::string EtagOf(const std::string& entry);

}  // namespace millrace::service
