// trace_bench: what a PrismTrace costs: bytes a node, nodes scanned a second, nanoseconds to write
// a node.
//
// Usage: trace_bench [NODES] [REPEATS]. A training-like graph of 8 ranks, times jittered by 5
// %, 1.2 edges a node. Medians and spread; no verdict. The file lies in the temporary folder and is
// scanned warm.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "graph/prism_trace_reader.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;

namespace {

constexpr std::uint32_t ranks = 8;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

[[noreturn]] void fail(const error& why) {
  std::fprintf(stderr, "trace_bench: %s\n", to_string(why).c_str());
  std::exit(exit_status(why.code));
}

double write_trace(const std::string& path, const std::vector<std::vector<node>>& nodes) {
  const auto start = std::chrono::steady_clock::now();
  auto writer = prism_trace_writer::create(path, {.world = ranks, .metadata = {}});
  if (!writer) fail(writer.error());
  auto done = (*writer)->append(sample::group({0, 1, 2, 3, 4, 5, 6, 7}, "default_pg"));
  if (done) done = (*writer)->append_call_site("train.py:42 in step");
  for (std::uint32_t rank = 0; rank < ranks && done; ++rank)
    done = (*writer)->append({rank}, nodes[rank]);
  if (done) done = (*writer)->close();
  if (!done) fail(done.error());
  return seconds_since(start);
}

double scan_trace(const std::string& path, std::uint64_t& checksum) {
  const auto start = std::chrono::steady_clock::now();
  auto reader = prism_trace_reader::open(path);
  if (!reader) fail(reader.error());
  auto scanned = (*reader)->scan([&](const node_columns& columns) -> result<void> {
    for (std::uint32_t i = 0; i < columns.count; ++i)
      checksum += columns.duration_ns[i] + columns.gap_ns[i] + columns.sequence[i]
                  + columns.shapes[columns.shape[i]].after.size();
    return {};
  });
  if (!scanned) fail(scanned.error());
  return seconds_since(start);
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
  std::vector<double> write_ns, scan_millions;
  std::uint64_t checksum = 0;
  for (std::uint64_t run = 0; run < repeats; ++run) {
    write_ns.push_back(write_trace(path, nodes) * 1e9 / static_cast<double>(count));
    scan_millions.push_back(static_cast<double>(count) / 1e6 / scan_trace(path, checksum));
  }
  std::printf("%llu nodes, %.2f edges a node (checksum %016llx)\n",
              static_cast<unsigned long long>(count),
              static_cast<double>(edges) / static_cast<double>(count),
              static_cast<unsigned long long>(checksum));
  std::printf("%-18s %8.2f\n", "bytes/node",
              static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(count));
  print("scan, M nodes/s", scan_millions);
  print("write, ns/node", write_ns);
}
