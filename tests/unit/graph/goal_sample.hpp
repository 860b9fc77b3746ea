// goal_sample: GOAL schedules for tests: from text, and random ones.
#pragma once

#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "graph/goal/binary_reader.hpp"
#include "graph/goal/binary_writer.hpp"
#include "graph/goal/schedule_builder.hpp"
#include "graph/goal/text_reader.hpp"
#include "graph/goal/text_writer.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

namespace troupe::goal::sample {

inline result<schedule> parsed(const std::string& text,
                               std::vector<text_problem>* problems = nullptr) {
  temporary_folder folder;
  write_file(folder.file("a.goal"), text.data(), text.size());
  auto file = input_file::open(folder.file("a.goal"));
  REQUIRE(file);
  return read_text(*file, problems);
}

inline schedule schedule_of(const std::string& text) {
  auto read = parsed(text);
  INFO((read ? "" : read.error().context));
  REQUIRE(read);
  return *std::move(read);
}

template <class Write>
std::string written(const schedule& what, Write write) {
  temporary_folder folder;
  auto file = output_file::create(folder.file("a"));
  REQUIRE(file);
  buffered_output to(*std::move(file));
  write(what, to);
  REQUIRE(to.close());
  const auto bytes = bytes_of_file(folder.file("a"));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(const schedule& what) { return written(what, write_text); }
inline std::string binary_of(const schedule& what) { return written(what, write_binary); }

inline result<schedule> from_binary(const std::string& bytes) {
  temporary_folder folder;
  write_file(folder.file("a.bin"), bytes.data(), bytes.size());
  auto file = input_file::open(folder.file("a.bin"));
  REQUIRE(file);
  return read_binary(*file);
}

/// Any operations with any dependencies, cycles too; wide values among them if `is_wide`.
inline schedule random_schedule(std::mt19937_64& chance, bool is_wide) {
  const auto below = [&](std::uint64_t end) { return chance() % end; };
  schedule_builder builder;
  const auto ranks = static_cast<std::uint32_t>(1 + below(5));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    builder.begin_rank();
    const auto count = static_cast<std::uint32_t>(below(12));
    for (std::uint32_t i = 0; i < count; ++i) {
      operation_description what;
      what.kind = static_cast<operation_kind>(1 + below(3));
      what.size = below(3) == 0 ? chance() : below(1000);
      what.cpu = static_cast<std::uint16_t>(below(is_wide ? 65536 : 256));
      if (what.kind != operation_kind::calc) {
        const bool is_recv = what.kind == operation_kind::recv;
        what.nic = static_cast<std::uint16_t>(below(is_wide ? 65536 : 256));
        what.peer =
            is_recv && below(4) == 0 ? any_source : static_cast<std::uint32_t>(below(ranks));
        what.tag = below(is_wide ? ~std::uint64_t{0} : ~std::uint32_t{0});
        if (is_recv && below(4) == 0) what.tag = any_tag;
      }
      builder.add(what);
    }
    for (auto edges = count > 0 ? below(20) : 0; edges > 0; --edges)
      builder.depend(static_cast<std::uint32_t>(below(count)),
                     static_cast<std::uint32_t>(below(count)), below(2) == 0);
    REQUIRE(builder.end_rank());
  }
  return builder.finish();
}

}  // namespace troupe::goal::sample
