#include "ingest/own_threads.h"

#include <memory>

namespace millrace::ingest {
namespace {

struct Task {
  GstTaskPoolFunction function = nullptr;
  gpointer data = nullptr;
};

gpointer Run(gpointer owned) {
  const std::unique_ptr<Task> task(static_cast<Task*>(owned));
  task->function(task->data);
  return nullptr;
}

gpointer Push(GstTaskPool* /*pool*/, GstTaskPoolFunction function, gpointer data, GError** error) {
  auto task = std::make_unique<Task>(Task{.function = function, .data = data});
  GThread* const thread = g_thread_try_new("decoder", Run, task.get(), error);
  if (thread != nullptr) static_cast<void>(task.release());  // It is the thread's now.
  return thread;
}

void Join(GstTaskPool* /*pool*/, gpointer thread) { g_thread_join(static_cast<GThread*>(thread)); }

void Dispose(GstTaskPool* /*pool*/, gpointer thread) {
  g_thread_unref(static_cast<GThread*>(thread));
}

void DefineClass(gpointer its_class, gpointer /*data*/) {
  auto& pool = *static_cast<GstTaskPoolClass*>(its_class);
  pool.push = Push;
  pool.join = Join;
  pool.dispose_handle = Dispose;
}

GType OwnThreadsType() {
  static const GType type = g_type_register_static_simple(
      GST_TYPE_TASK_POOL, "MillraceOwnThreads", sizeof(GstTaskPoolClass), DefineClass,
      sizeof(GstTaskPool), nullptr, GTypeFlags(0));
  return type;
}

}  // namespace

GstOwned<GstTaskPool> NewOwnThreads() {
  auto* const pool = static_cast<GstTaskPool*>(g_object_new(OwnThreadsType(), nullptr));
  gst_object_ref_sink(pool);
  return GstOwned<GstTaskPool>(pool);
}

}  // namespace millrace::ingest
