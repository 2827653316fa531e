#include "service/subscriptions/stream_feed.h"

namespace millrace::service {

std::shared_ptr<StreamFeed> StreamFeeds::Of(const SharedStream& stream) {
  const MutexLock lock(mu_);
  std::erase_if(feeds_, [](const auto& feed) { return feed.second.expired(); });
  std::weak_ptr<StreamFeed>& known = feeds_[stream.get()];
  std::shared_ptr<StreamFeed> feed = known.lock();
  if (feed == nullptr) known = feed = std::make_shared<StreamFeed>(stream, subscribers_, form_);
  return feed;
}

}  // namespace millrace::service
