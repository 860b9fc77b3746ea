// watched_futures: the futures of operations under way, so that a C++ wait on one counts as
// blocked.
//
// ivalue::Future is final and its wait is not virtual (DDP waits there): the preload library sees
// waits in std::condition_variable and knows a future by the addresses it lies at. A future made of
// another by Python's then() is waited for in its place, so it is watched for the same operation.
// Not here: futures made by C++'s then(), of which nobody tells us: a wait for one is not seen. In
// torch itself only DDP's built-in FP16 hook makes one, and the import hook registers Python's
// equal in its place.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <vector>

namespace troupe {

/// Is there somebody who sees waits in std::condition_variable?
bool waits_on_futures_are_seen();
void watch_future(std::uint64_t operation, const c10::ivalue::Future& future);
/// `child` completes after `parent` (and others, when told of them): it is watched for whatever the
/// parent is watched for.
void watch_child(const c10::ivalue::Future& parent, const c10::ivalue::Future& child);
/// The operations under way after which it completes.
std::vector<std::uint64_t> watched_operations(const c10::ivalue::Future& future);
/// The operation is done and its future's callbacks have run.
void forget_watched(std::uint64_t operation);

}  // namespace troupe
