// twins: every call has a twin `pnccl*` for profilers that put themselves before it.
#pragma once

#define TROUPE_NCCL_TWIN(name) extern "C" decltype(name) p##name __attribute__((alias(#name)));
