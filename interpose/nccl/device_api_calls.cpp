// device_api_calls: NCCL's calls for kernels that communicate themselves, which no host device can
// run: they fail, and say so once. NCCL's headers are not included
// (interpose/cudart/missing_calls.cpp).
//
// Those that return a structure return zeros.

typedef int two_words __attribute__((mode(TI)));

extern "C" int troupe_nccl_call_is_missing(const char* name);

#define TROUPE_NCCL_MISSING(name)                                            \
  extern "C" two_words name() { return troupe_nccl_call_is_missing(#name); } \
  extern "C" two_words p##name() { return troupe_nccl_call_is_missing(#name); }
#define TROUPE_NCCL_NO_TEAM(name)       \
  extern "C" two_words name() {         \
    troupe_nccl_call_is_missing(#name); \
    return 0;                           \
  }                                     \
  extern "C" two_words p##name() {      \
    troupe_nccl_call_is_missing(#name); \
    return 0;                           \
  }

TROUPE_NCCL_MISSING(ncclDevCommCreate)
TROUPE_NCCL_MISSING(ncclDevCommDestroy)
TROUPE_NCCL_MISSING(ncclGinBarrierCreateRequirement)
TROUPE_NCCL_MISSING(ncclLLA2ACreateRequirement)
TROUPE_NCCL_MISSING(ncclLsaBarrierCreateRequirement)
TROUPE_NCCL_NO_TEAM(ncclLLA2ACalcSlots)
TROUPE_NCCL_NO_TEAM(ncclTeamLsa)
TROUPE_NCCL_NO_TEAM(ncclTeamRail)
TROUPE_NCCL_NO_TEAM(ncclTeamRankToLsa)
TROUPE_NCCL_NO_TEAM(ncclTeamRankToWorld)
TROUPE_NCCL_NO_TEAM(ncclTeamWorld)
