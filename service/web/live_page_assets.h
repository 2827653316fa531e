// The live page's files, embedded in the program, so that the installation is one file.
#pragma once

#include <span>
#include <string_view>

namespace millrace::service {

struct LivePageAsset {
  std::string_view name;
  std::string_view content_type;
  std::string_view content;
};

/// The files of service/web/page/ as of build time. Constant.
[[nodiscard]] std::span<const LivePageAsset> LivePageAssets();

}  // namespace millrace::service
