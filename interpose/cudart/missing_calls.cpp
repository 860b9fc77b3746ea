// missing_calls: what the host device does not have answers with CUDA's own error, and says so
// once.
//
// CUDA's headers are not included: here the calls have no parameters, which those who call them do
// not notice (the caller removes its arguments).

extern "C" int troupe_call_is_missing(const char* name);

#define TROUPE_CALL(name)
#define TROUPE_MISSING(name) \
  extern "C" int name() { return troupe_call_is_missing(#name); }
#include "interpose/cudart/calls.def"
