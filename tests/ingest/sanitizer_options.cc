// GLib's type system allocates once, in a constructor of its library, and never gives it back; only
// a slow unwinder sees that far up. Nothing else is suppressed.
extern "C" {

const char* __asan_default_options();       // NOLINT(readability-identifier-naming,bugprone-*)
const char* __lsan_default_suppressions();  // NOLINT(readability-identifier-naming,bugprone-*)

const char* __asan_default_options() { return "fast_unwind_on_malloc=0"; }
const char* __lsan_default_suppressions() { return "leak:call_init\n"; }
}
