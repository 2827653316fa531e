#include "tests/pipeline/soft_gpu/memory.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>

#include "tests/pipeline/soft_gpu/soft_gpu.h"
#include "tests/pipeline/soft_gpu/streams.h"

namespace millrace::soft_gpu {
namespace {

// As float32 and float64 no number; as an index the last.
constexpr int kSpoiled = 0xFF;

// The limit of freed memory that is kept: a late reader then reads spoiled values.
constexpr std::size_t kMaxKept = std::size_t{1} << 29;

// What a device without a limit says that it has.
constexpr std::size_t kUnlimited = std::size_t{1} << 36;

std::shared_ptr<Bytes> NewBytes(std::size_t size) {
  return std::make_shared<Bytes>(size, static_cast<char>(kSpoiled));
}

void Spoil(Bytes& bytes) { std::ranges::fill(bytes, static_cast<char>(kSpoiled)); }

struct Block {
  std::shared_ptr<Bytes> bytes;
  c10::DeviceIndex device = 0;
  std::int64_t owner = 0;
  std::shared_ptr<PoolMemory> pool = {};  // Of the recording in which it was given.
  std::vector<std::int64_t> readers = {};
};

// By where they begin.
std::map<const void*, const Block*>& Blocks() {
  static auto* const blocks = new std::map<const void*, const Block*>;
  return *blocks;
}

// Of the streams that are recorded.
std::map<std::int64_t, std::shared_ptr<PoolMemory>>& Pools() {
  static auto* const pools = new std::map<std::int64_t, std::shared_ptr<PoolMemory>>;
  return *pools;
}

std::shared_ptr<PoolMemory> PoolOf(std::int64_t stream) {
  const auto found = Pools().find(stream);
  return found != Pools().end() ? found->second : nullptr;
}

std::atomic<std::size_t> limit = 0;
std::atomic<std::size_t> in_use = 0;
std::atomic<std::size_t> peak_in_use = 0;

void TakeFromLimit(std::size_t size) {
  const std::size_t used = in_use += size;
  peak_in_use = std::max(peak_in_use.load(), used);
  if (limit == 0 || used <= limit) return;
  in_use -= size;
  TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", size,
                   " bytes");
}

// Reports to LibTorch's profiler, which counts the memory of an operation.
void Report(const Block& block, std::int64_t bytes) {
  c10::reportMemoryUsageToProfiler(const_cast<char*>(block.bytes->data()), bytes, in_use, in_use,
                                   c10::Device(c10::kCUDA, block.device));
}

const Block* BlockOf(const void* memory) {
  auto after = Blocks().upper_bound(memory);
  if (after == Blocks().begin()) return nullptr;
  const auto& [begin, block] = *--after;
  return memory < static_cast<const char*>(begin) + block->bytes->size() ? block : nullptr;
}

void Retire(Block* block) {
  static auto* const kept = new std::deque<std::unique_ptr<Block>>;
  static std::size_t bytes = 0;
  std::unique_ptr<Block> freed(block);
  Spoil(*freed->bytes);
  if (freed->pool != nullptr) {
    freed->pool->freed.push_back(freed->bytes);
    return;
  }
  bytes += freed->bytes->size();
  kept->push_back(std::move(freed));
  while (bytes > kMaxKept) {
    bytes -= kept->front()->bytes->size();
    kept->pop_front();
  }
}

// The smallest freed memory that is large enough, as LibTorch's allocator chooses; or null.
std::shared_ptr<Bytes> TakeFreed(PoolMemory& pool, std::size_t size) {
  auto best = pool.freed.end();
  for (auto it = pool.freed.begin(); it != pool.freed.end(); ++it) {
    if ((*it)->size() < size) continue;
    if (best == pool.freed.end() || (*it)->size() < (*best)->size()) best = it;
  }
  if (best == pool.freed.end()) return nullptr;
  std::shared_ptr<Bytes> bytes = std::move(*best);
  pool.freed.erase(best);
  return bytes;
}

// Memory of the host: no stream owns it.
void FreeOfHost(void* context) {
  auto* const block = static_cast<Block*>(context);
  Streams& streams = Streams::Get();
  const std::lock_guard lock(streams.mutex());
  Blocks().erase(block->bytes->data());
  std::vector<Mark> marks;
  for (const std::int64_t reader : block->readers) marks.push_back(streams.Here(reader));
  streams.After(std::move(marks), [block] { Retire(block); });
}

class HostMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    auto block = std::make_unique<Block>();
    block->bytes = NewBytes(std::max<std::size_t>(size, 1));
    block->device = -1;
    void* const data = block->bytes->data();
    const std::lock_guard lock(Streams::Get().mutex());
    Blocks().emplace(data, block.get());
    return {data, block.release(), &FreeOfHost, c10::Device(c10::kCPU)};
  }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    std::memcpy(to, from, count);
  }
};

// A recording owns its memory as long as it exists, and spoils it again at each replay. Later
// recordings of its pool get the same memory, also of tensors that were held longer. Other memory
// is freed as always, in any thread.
void Free(void* context) {
  auto* const block = static_cast<Block*>(context);
  Streams& streams = Streams::Get();
  const std::lock_guard lock(streams.mutex());
  Blocks().erase(block->bytes->data());
  in_use -= block->bytes->size();
  Report(*block, -static_cast<std::int64_t>(block->bytes->size()));
  if (block->pool != nullptr && block->pool == PoolOf(block->owner)) {
    block->pool->freed.push_back(block->bytes);
    streams.Put(block->owner, [bytes = block->bytes] { Spoil(*bytes); });
    delete block;
    return;
  }
  std::vector<Mark> marks = {streams.Here(block->owner)};
  for (const std::int64_t reader : block->readers) marks.push_back(streams.Here(reader));
  streams.After(std::move(marks), [block] { Retire(block); });
}

class SoftMemory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t size) override {
    const std::int64_t stream = CurrentStream(CurrentDevice());
    const std::lock_guard lock(Streams::Get().mutex());
    auto block = std::make_unique<Block>();
    block->pool = PoolOf(stream);
    block->bytes = block->pool != nullptr ? TakeFreed(*block->pool, size) : nullptr;
    TakeFromLimit(block->bytes != nullptr ? block->bytes->size() : size);
    if (block->bytes == nullptr) block->bytes = NewBytes(size);
    block->device = CurrentDevice();
    block->owner = stream;
    void* const data = size > 0 ? block->bytes->data() : nullptr;
    if (data != nullptr) Blocks().emplace(data, block.get());
    Report(*block, static_cast<std::int64_t>(size));
    return {data, block.release(), &Free, c10::Device(c10::kCUDA, CurrentDevice())};
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr& memory, c10::Stream stream) override {
    RecordStream(memory, NumberOf(stream));
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = static_cast<std::int64_t>(in_use);
    stats.allocated_bytes[0].peak = static_cast<std::int64_t>(peak_in_use);
    return stats;
  }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
    const std::size_t total = limit != 0 ? limit.load() : kUnlimited;
    return {total - std::min(total, in_use.load()), total};
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { peak_in_use = in_use.load(); }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    Streams::Get().FinishAll();
    std::memcpy(to, from, count);
  }
};

}  // namespace

void TakeFrom(std::shared_ptr<PoolMemory> pool, std::int64_t stream) {
  const std::lock_guard lock(Streams::Get().mutex());
  if (pool != nullptr) {
    Pools()[stream] = std::move(pool);
  } else {
    Pools().erase(stream);
  }
}

void LimitMemory(std::size_t bytes) { limit = bytes; }

c10::Allocator* Memory() {
  static SoftMemory* const memory = new SoftMemory;
  return memory;
}

c10::Allocator* PinnedMemory() {
  static HostMemory* const memory = new HostMemory;
  return memory;
}

bool IsPinned(const void* memory) {
  const std::lock_guard lock(Streams::Get().mutex());
  const Block* const block = BlockOf(memory);
  return block != nullptr && block->device < 0;
}

void RecordStream(const c10::DataPtr& memory, std::int64_t stream) {
  const std::lock_guard lock(Streams::Get().mutex());
  auto* const block = static_cast<Block*>(memory.get_context());
  const bool ours = memory.get_deleter() == &Free || memory.get_deleter() == &FreeOfHost;
  if (block != nullptr && ours) block->readers.push_back(stream);
}

c10::DeviceIndex DeviceOf(const void* memory) {
  const std::lock_guard lock(Streams::Get().mutex());
  const Block* const block = BlockOf(memory);
  return block != nullptr ? block->device : static_cast<c10::DeviceIndex>(-1);
}

}  // namespace millrace::soft_gpu
