// defaults: what the sanitizers' runtimes are told in our test programs, and what they overlook.
//
// They ask for these functions by name; ASAN_OPTIONS and its like in the environment come on top. A
// suppression hides as little as it can and says why that is not ours to mend. Memory that is not
// there is refused to the caller, as it is without them.
extern "C" {

const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1:"
         "allocator_may_return_null=1";
}

const char* __ubsan_default_options() { return "print_stacktrace=1"; }

const char* __tsan_default_options() {
  return "halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1";
}

// libcaf_core.so is not instrumented: that a mailbox hands a message to the receiver's thread, and
// a reference count an actor to whoever ends it, is not seen. Only what is allocated there is
// overlooked, the scheduler's own data is not.
const char* __tsan_default_suppressions() {
  return "race:caf::make_mailbox_element\n"
         "race:caf::make_counted\n"
         "race:caf::actor_storage\n"
         "called_from_lib:libcaf_core.so\n";
}
}
