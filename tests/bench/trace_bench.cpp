// trace_bench: what a PrismTrace costs: bytes a node, nodes scanned a second, nanoseconds to write
// a node.
//
// Usage: trace_bench [NODES] [REPEATS]. A training-like graph of 8 ranks, times jittered by 5 %,
// 1.2 edges a node. Medians and spread; no verdict. The file lies in the temporary folder and is
// scanned warm. By the wall clock, and by the processor's time, which a busy machine spoils less.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "graph/prism_trace_reader.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;

namespace {

constexpr std::uint32_t ranks = 8;

struct elapsed {
  double wall_s{}, cpu_s{};
};

class stopwatch {
 public:
  elapsed read() const {
    return {std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_).count(),
            static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC};
  }

 private:
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
  std::clock_t cpu_ = std::clock();
};

[[noreturn]] void fail(const error& why) {
  std::fprintf(stderr, "trace_bench: %s\n", to_string(why).c_str());
  std::exit(exit_status(why.code));
}

elapsed write_trace(const std::string& path, const std::vector<std::vector<node>>& nodes) {
  const stopwatch watch;
  auto writer = prism_trace_writer::create(path, {.world = ranks, .metadata = {}});
  if (!writer) fail(writer.error());
  auto done = (*writer)->append(sample::group({0, 1, 2, 3, 4, 5, 6, 7}, "default_pg"));
  if (done) done = (*writer)->append_call_site("train.py:42 in step");
  for (std::uint32_t rank = 0; rank < ranks && done; ++rank)
    done = (*writer)->append({rank}, nodes[rank]);
  if (done) done = (*writer)->close();
  if (!done) fail(done.error());
  return watch.read();
}

elapsed scan_trace(const std::string& path, std::uint64_t& checksum) {
  const stopwatch watch;
  auto reader = prism_trace_reader::open(path);
  if (!reader) fail(reader.error());
  auto scanned = (*reader)->scan([&](const node_columns& columns) -> result<void> {
    for (std::uint32_t i = 0; i < columns.count; ++i)
      checksum += columns.duration_ns[i] + columns.gap_ns[i] + columns.sequence[i]
                  + columns.shapes[columns.shape[i]].after.size();
    return {};
  });
  if (!scanned) fail(scanned.error());
  return watch.read();
}

void print(const char* what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::printf("%-18s %8.2f   (%.2f to %.2f in %zu runs)\n", what, values[values.size() / 2],
              values.front(), values.back(), values.size());
}

}  // namespace

int main(int argc, char** argv) {
  const auto total = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10'000'000;
  const auto repeats = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 5;
  if (total < ranks || total > 4'000'000'000 || repeats < 1 || repeats > 1000) {
    std::fprintf(stderr, "usage: trace_bench [NODES (8 to 4e9)] [REPEATS (1 to 1000)]\n");
    return 2;
  }
  std::mt19937_64 chance(7);
  std::vector<std::vector<node>> nodes;
  std::uint64_t edges = 0, count = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    nodes.push_back(sample::training_nodes(static_cast<std::uint32_t>(total / ranks), chance));
    for (const auto& what : nodes.back()) edges += what.after.size();
    count += nodes.back().size();
  }
  temporary_folder folder;
  const auto path = folder.file("bench.prism");
  std::vector<double> write_ns, write_cpu_ns, scan_millions, scan_cpu_millions;
  std::uint64_t checksum = 0;
  for (std::uint64_t run = 0; run < repeats; ++run) {
    const auto wrote = write_trace(path, nodes), scanned = scan_trace(path, checksum);
    const auto n = static_cast<double>(count);
    write_ns.push_back(wrote.wall_s * 1e9 / n);
    write_cpu_ns.push_back(wrote.cpu_s * 1e9 / n);
    scan_millions.push_back(n / 1e6 / scanned.wall_s);
    scan_cpu_millions.push_back(n / 1e6 / std::max(scanned.cpu_s, 1e-6));
  }
  std::printf("%llu nodes, %.2f edges a node (checksum %016llx)\n",
              static_cast<unsigned long long>(count),
              static_cast<double>(edges) / static_cast<double>(count),
              static_cast<unsigned long long>(checksum));
  std::printf("%-18s %8.2f\n", "bytes/node",
              static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(count));
  print("scan, M nodes/s", scan_millions);
  print("  processor", scan_cpu_millions);
  print("write, ns/node", write_ns);
  print("  processor", write_cpu_ns);
}
