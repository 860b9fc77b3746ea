// exported_sample: the small graph with overlapping operations, through an exporter into a file's
// bytes.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "graph/buffered_output.hpp"
#include "graph/timeline_exporter.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

namespace troupe {

/// The small graph; rank 1 has two operations that overlap on one stream; slot 0 holds rank 0 again
/// at the end.
inline execution_graph overlapping_graph() {
  auto graph = sample::small_graph();
  auto& nodes = graph.ranks[1];
  nodes.push_back(sample::collective(operation::all_reduce, 0, 10, 1 << 20));
  nodes.back().after = {1};
  nodes.push_back(sample::compute(50));
  nodes.push_back(sample::collective(operation::all_gather, 0, 11, 1 << 20));
  graph.slots.push_back({{0}, {0}, 50'000, 60'000, 0});
  return graph;
}

template <class Exporter, class... Arguments>
std::string exported(const execution_graph& graph, std::uint32_t first, std::uint32_t last,
                     Arguments... arguments) {
  temporary_folder folder;
  const auto path = folder.file("timeline");
  auto file = output_file::create(path);
  REQUIRE(file);
  buffered_output to(std::move(*file));
  Exporter exporter(to, arguments...);
  exporter.begin(graph);
  for (auto rank = first; rank <= last; ++rank) {
    std::vector<slot_interval> slots;
    for (const auto& interval : graph.slots)
      if (interval.rank.value == rank) slots.push_back(interval);
    exporter.add({rank}, graph.ranks[rank], slots);
  }
  exporter.end();
  REQUIRE(to.close());
  const auto bytes = bytes_of_file(path);
  return {bytes.begin(), bytes.end()};
}

}  // namespace troupe
