// GLib's type system allocates once, in a constructor of its library, and its interned strings are
// never freed by contract. Only a slow unwinder reaches that constructor, and it is fast enough
// only if it stops there. Nothing else is suppressed.
extern "C" {

const char* __asan_default_options();       // NOLINT(readability-identifier-naming,bugprone-*)
const char* __lsan_default_suppressions();  // NOLINT(readability-identifier-naming,bugprone-*)

#ifdef MILLRACE_TEST_CRASHES  // On purpose: the signal must end the process.
#define MILLRACE_SIGNALS ":handle_segv=0:handle_abort=0"
#else
#define MILLRACE_SIGNALS ""
#endif
const char* __asan_default_options() {
  return "fast_unwind_on_malloc=0:malloc_context_size=12" MILLRACE_SIGNALS;
}
const char* __lsan_default_suppressions() { return "leak:call_init\nleak:g_intern_string\n"; }
}
