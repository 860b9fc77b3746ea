// run_link: the host device's part in a run: the process becomes its rank at the first call, and
// threads that wait or ask in vain let others run. Outside of a run nothing happens.
#pragma once

#include <cstdint>

namespace troupe {

/// CLOCK_MONOTONIC.
std::uint64_t device_clock_ns();

/// Connects to the run that the environment names, once; says why it cannot and ends the process
/// (status 70) when there is one.
void join_run();
/// The calling thread takes part in the rank's slot from now on.
void enter_run();
/// Of the run; alone, any process is.
bool is_first_rank();
/// So much was held of a device at most; the run is told of the largest.
void report_device_peak(std::uint64_t bytes, std::uint64_t fragmented_bytes);
/// The program has asked for a copy between a device and the host: a node of its trace.
void report_copy(std::uint64_t bytes, std::uint64_t duration_ns);
/// The thread asked and there was nothing: others first.
void let_others_run();

}  // namespace troupe
