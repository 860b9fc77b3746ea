/* troupe_kernel: host functions that stand for a program's kernels on the host device.
 *
 * A library that TROUPE_KERNELS names (several: with ':' between them) exports the array
 * troupe_host_kernels, which ends with an entry without a name. A kernel whose mangled name is in
 * it is computed by its function, once a launch, when the stream gets there; all others compute
 * nothing. Of several functions for a kernel the first one does.
 */
#ifndef TROUPE_KERNEL_H
#define TROUPE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint32_t grid[3], block[3];
  size_t shared_bytes;
} troupe_launch;

/* What a launch moves to and from the device's memory, and how many operations it makes. */
typedef struct {
  double bytes, flops;
} troupe_cost;

typedef struct {
  /* Mangled, as nvcc registers it. A '*' stands for any characters: the name of an unnamed
   * namespace differs from build to build. */
  const char* name;
  /* arguments[i] points to a copy of the i-th argument, of argument_sizes[i] bytes. */
  void (*run)(const troupe_launch* launch, void** arguments);
  uint32_t argument_count;
  const size_t* argument_sizes;
  /* From which its time on the device follows, when the device's file has none for it. NULL: the
   * time of a kernel of which nothing is known. Called at the launch, with its own arguments. */
  void (*cost)(const troupe_launch* launch, void** arguments, troupe_cost* cost);
} troupe_host_kernel;

extern const troupe_host_kernel troupe_host_kernels[];

#ifdef __cplusplus
}
#endif
#endif
