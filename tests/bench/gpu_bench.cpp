// gpu_bench: what the host backend's sums cost beside memcpy, and what the wire's codec costs a
// frame.
//
// Usage: gpu_bench [MIB] [MEMBERS] [REPEATS]. Medians and the spread (least, most) of repeats; no
// verdict. A fold of n members reads n vectors and writes one; GB/s count the bytes read, as
// memcpy's count the bytes copied.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "messages/wire_codec.hpp"

using namespace troupe;

namespace {

/// CPU time of this thread: what others do on the machine disturbs it least.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct spread {
  double least, median, most;
};

template <class Job>
spread seconds(int repeats, Job job) {
  job();  // pages are touched, caches as they will be
  std::vector<double> all;
  for (int i = 0; i < repeats; ++i) {
    double start = cpu_seconds();
    job();
    all.push_back(cpu_seconds() - start);
  }
  std::sort(all.begin(), all.end());
  return {all.front(), all[all.size() / 2], all.back()};
}

void print_rate(const std::string& name, double size, spread taken) {
  std::printf("%-28s %7.2f GB/s  (%.2f .. %.2f)\n", name.c_str(), size / taken.median / 1e9,
              size / taken.most / 1e9, size / taken.least / 1e9);
}

void print_time(const std::string& name, int calls, spread taken) {
  std::printf("%-28s %7.0f ns    (%.0f .. %.0f)\n", name.c_str(), taken.median / calls * 1e9,
              taken.least / calls * 1e9, taken.most / calls * 1e9);
}

std::span<std::byte> buffer(backend& where, std::size_t size) {
  auto got = where.allocate(bytes{size});
  if (!got) {
    std::fprintf(stderr, "gpu_bench: %s\n", to_string(got.error()).c_str());
    std::exit(exit_status(got.error().code));
  }
  std::memset(got->data(), 0, size);
  return *got;
}

void bench_folds(std::size_t size, std::size_t members, int repeats) {
  auto where = make_host_backend();
  auto into = buffer(*where, size);
  std::vector<std::span<std::byte>> others;
  for (std::size_t i = 1; i < members; ++i) others.push_back(buffer(*where, size));
  std::vector<std::span<const std::byte>> from(others.begin(), others.end());
  double read = static_cast<double>(size * members);

  std::printf("%zu members of %zu MiB, %d repeats: median (least .. most)\n", members, size >> 20,
              repeats);
  print_rate("memcpy", read, seconds(repeats, [&] {
               for (auto& other : others) std::memcpy(into.data(), other.data(), size);
               std::memcpy(others[0].data(), into.data(), size);
             }));
  for (auto type : {element_type::f32, element_type::f64, element_type::f16, element_type::bf16,
                    element_type::i32, element_type::i8})
    print_rate(std::string("fold sum ") + to_string(type), read,
               seconds(repeats, [&] { where->fold(type, reduction::sum, into, from); }));
  print_rate("fold max f32", read,
             seconds(repeats, [&] { where->fold(element_type::f32, reduction::max, into, from); }));
  print_rate("finish avg f32", static_cast<double>(size),
             seconds(repeats, [&] { where->finish(element_type::f32, reduction::avg, into, 16); }));
  for (auto other : others) where->release(other);
  where->release(into);
}

std::uint64_t kept = 0;  // what the calls made is used: the compiler cannot leave them out

template <class Frame, class Decode>
void bench_frame(const std::string& name, const Frame& frame, Decode decode, int repeats) {
  constexpr int calls = 20000;
  print_time("encode " + name, calls, seconds(repeats, [&] {
               for (int i = 0; i < calls; ++i) kept += encode(frame).size();
             }));
  auto bytes = encode(frame);
  print_time("decode " + name, calls, seconds(repeats, [&] {
               for (int i = 0; i < calls; ++i) kept += decode(bytes)->index();
             }));
}

void bench_codec(int repeats) {
  std::printf("codec, a frame\n");
  to_troupe::issue issue{
      .operation = {7},
      .communicator = {0x1234567890abcdefull},
      .sequence = {99},
      .call = {},
      .payload = region{.pool = 0, .offset = 4096, .length = 1 << 20, .header = 4032},
      .site = {3},
      .as_future = false,
      .at_ns = 123456789};
  issue.call.reduce = reduction::sum;
  issue.call.count = 1 << 18;
  bench_frame("issue (region)", to_troupe::frame{issue}, decode_to_troupe, repeats);
  issue.payload = inline_bytes(256);
  bench_frame("issue (256 bytes inline)", to_troupe::frame{issue}, decode_to_troupe, repeats);
  to_rank::completed completed{.operation = {7}, .why = {}, .pieces = {region{}}, .source = -1};
  bench_frame("completed (1 piece)", to_rank::frame{completed}, decode_to_rank, repeats);
  bench_frame("granted", to_rank::frame{to_rank::granted{}}, decode_to_rank, repeats);
}

}  // namespace

int main(int argc, char** argv) {
  auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  int mib = argument(1, 16), members = argument(2, 16), repeats = argument(3, 9);
  if (mib < 1 || members < 2 || repeats < 1) {
    std::fprintf(stderr, "usage: gpu_bench [MIB >= 1] [MEMBERS >= 2] [REPEATS >= 1]\n");
    return 2;
  }
  bench_folds(static_cast<std::size_t>(mib) << 20, static_cast<std::size_t>(members), repeats);
  bench_codec(repeats);
  return kept == 0;
}
