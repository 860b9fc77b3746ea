#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <random>

#include "graph/node_check.hpp"
#include "graph/prism_trace_reader.hpp"
#include "graph/prism_trace_writer.hpp"
#include "tests/unit/graph/sample_graph.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;

namespace {

prism_trace_writer::options options_for(const execution_graph& graph) {
  return {.world = graph.world, .stage = graph.stage, .metadata = graph.metadata};
}

void write_whole(const std::string& path, const execution_graph& graph) {
  auto writer = prism_trace_writer::create(path, options_for(graph));
  REQUIRE(writer);
  REQUIRE(sample::write(graph, **writer));
  REQUIRE((*writer)->close());
  CHECK((*writer)->written_bytes() == std::filesystem::file_size(path));
}

execution_graph load(const std::string& path, bool is_cut = false) {
  auto reader = prism_trace_reader::open(path);
  INFO((reader ? "" : reader.error().context));
  REQUIRE(reader);
  CHECK((*reader)->is_cut() == is_cut);
  auto graph = (*reader)->load();
  INFO((graph ? "" : graph.error().context));
  REQUIRE(graph);
  return std::move(*graph);
}

}  // namespace

TEST_CASE("a graph comes back from its file") {
  temporary_folder folder;
  const auto graph = sample::small_graph();
  write_whole(folder.file("x.prism"), graph);
  CHECK(sample::equal(load(folder.file("x.prism")), graph));
  CHECK(structural_digest(load(folder.file("x.prism"))) == structural_digest(graph));
}

TEST_CASE("a rank of several chunks comes back, appended in any portions") {
  temporary_folder folder;
  std::mt19937_64 chance(11);
  execution_graph graph = sample::small_graph();
  graph.ranks[0] = sample::training_nodes(200'000, chance);
  graph.ranks[2] = sample::training_nodes(65'536, chance);
  auto writer = prism_trace_writer::create(folder.file("x.prism"), options_for(graph));
  REQUIRE(writer);
  for (const auto& communicator : graph.communicators) REQUIRE((*writer)->append(communicator));
  for (std::size_t site = 1; site < graph.call_sites.size(); ++site)
    REQUIRE((*writer)->append_call_site(graph.call_sites[site]));
  std::vector<std::size_t> at(4);
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const auto left = graph.ranks[rank].size() - at[rank];
      const auto count = std::min<std::size_t>(left, chance() % 50'000);
      REQUIRE((*writer)->append({rank}, std::span(graph.ranks[rank]).subspan(at[rank], count)));
      at[rank] += count;
      more |= at[rank] < graph.ranks[rank].size();
      if (chance() % 3 == 0) REQUIRE((*writer)->flush());
    }
  }
  REQUIRE((*writer)->append(std::span<const slot_interval>(graph.slots)));
  REQUIRE((*writer)->close());
  CHECK(sample::equal(load(folder.file("x.prism")), graph));
  auto reader = prism_trace_reader::open(folder.file("x.prism"));
  REQUIRE(reader);
  auto rank = (*reader)->load(rank_id{0});
  REQUIRE(rank);
  CHECK(*rank == graph.ranks[0]);
  CHECK((*reader)->nodes({0}) == 200'000);
}

TEST_CASE("the golden file of version 1 is read, and is what the writer writes") {
  const auto graph = sample::small_graph();
  const std::string golden = TROUPE_GOLDEN_FOLDER "/version1.prismtrace";
  CHECK(sample::equal(load(golden), graph));
  CHECK(structural_digest(graph) == 0xc7f6bc2f58f496bcull);
  temporary_folder folder;
  write_whole(folder.file("x.prism"), graph);
  CHECK(sample::equal(load(folder.file("x.prism")), load(golden)));
}

TEST_CASE("a world that grows while it is written is read as grown, whole or cut") {
  for (const bool whole : {true, false}) {
    temporary_folder folder;
    const auto graph = sample::small_graph();
    auto options = options_for(graph);
    options.world = 1;
    auto writer = prism_trace_writer::create(folder.file("x.prism"), options);
    REQUIRE(writer);
    REQUIRE((*writer)->grow(1));  // nothing new
    REQUIRE((*writer)->grow(2));
    REQUIRE((*writer)->grow(graph.world));
    REQUIRE(sample::write(graph, **writer));
    CHECK_FALSE((*writer)->grow((1u << 20) + 1));
    const auto ended = whole ? (*writer)->close() : (*writer)->flush();
    REQUIRE(ended);
    CHECK(sample::equal(load(folder.file("x.prism"), !whole), graph));
  }
}

TEST_CASE("a file without its end has what was flushed") {
  temporary_folder folder;
  const auto graph = sample::small_graph();
  auto writer = prism_trace_writer::create(folder.file("x.prism"), options_for(graph));
  REQUIRE(writer);
  REQUIRE(sample::write(graph, **writer));
  REQUIRE((*writer)->flush());
  CHECK(sample::equal(load(folder.file("x.prism"), true), graph));
}

TEST_CASE("a writer killed at any moment leaves a readable front part") {
  std::mt19937_64 chance(3);
  auto graph = sample::small_graph();
  graph.ranks[1] = sample::training_nodes(150'000, chance);
  for (int run = 0; run < 6; ++run) {
    temporary_folder folder;
    const auto path = folder.file("x.prism");
    const auto child = ::fork();
    if (child == 0) {
      auto writer = prism_trace_writer::create(path, options_for(graph));
      for (const auto& communicator : graph.communicators) (void)!(*writer)->append(communicator);
      (void)!(*writer)->append_call_site(graph.call_sites[1]);
      for (std::size_t at = 0; at < graph.ranks[1].size(); at += 1000) {
        (void)!(*writer)->append({1}, std::span(graph.ranks[1]).subspan(at, 1000));
        (void)!(*writer)->flush();
      }
      ::pause();
      ::_exit(0);
    }
    REQUIRE(child > 0);
    ::usleep(static_cast<useconds_t>(chance() % 60'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!std::filesystem::exists(path) || std::filesystem::file_size(path) < 200) continue;
    const auto back = load(path, true);
    CHECK(back.ranks[1].size() % 1000 == 0);
    CHECK(std::equal(back.ranks[1].begin(), back.ranks[1].end(), graph.ranks[1].begin()));
  }
}

TEST_CASE("a full disk is an error that names the file, and what was written stays readable") {
  temporary_folder folder;
  const auto path = folder.file("x.prism");
  std::mt19937_64 chance(3);
  const auto nodes = sample::training_nodes(400'000, chance);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 500'000;
  ::setrlimit(RLIMIT_FSIZE, &small);
  auto writer = prism_trace_writer::create(path, {.world = 4, .metadata = {}});
  bool wrote = bool(writer) && (*writer)->append(sample::group({0, 1, 2, 3}, ""))
               && (*writer)->append_call_site("x");
  auto full = wrote ? (*writer)->append({0}, nodes) : result<void>{};
  auto closed = wrote ? (*writer)->close() : result<void>{};
  ::setrlimit(RLIMIT_FSIZE, &before);
  REQUIRE(wrote);
  REQUIRE_FALSE(full);
  CHECK(full.error().code == errc::no_resources);
  CHECK(full.error().context.find(path) != std::string::npos);
  REQUIRE_FALSE(closed);
  CHECK(closed.error().code == errc::no_resources);
  CHECK(std::filesystem::file_size(path) == 500'000);
  auto reader = prism_trace_reader::open(path);
  REQUIRE(reader);
  CHECK((*reader)->dropped_bytes() > 0);
  const auto back = load(path, true);
  CHECK(back.ranks[0].size() >= prism_trace_writer::nodes_per_chunk);
  CHECK(std::equal(back.ranks[0].begin(), back.ranks[0].end(), nodes.begin()));
}

TEST_CASE("a path that cannot be written is bad input, a full device is no resources") {
  temporary_folder folder;
  for (const auto& path : {folder.file("none/x.prism"), folder.file("")}) {
    auto writer = prism_trace_writer::create(path, {.world = 1, .metadata = {}});
    REQUIRE_FALSE(writer);
    CHECK(writer.error().code == errc::bad_input);
  }
  auto full = prism_trace_writer::create("/dev/full", {.world = 1, .metadata = {}});
  REQUIRE_FALSE(full);
  CHECK(full.error().code == errc::no_resources);
}

TEST_CASE("a trace that is being written is not written by another, and stays as it is") {
  temporary_folder folder;
  const auto graph = sample::small_graph();
  auto writer = prism_trace_writer::create(folder.file("x.prism"), options_for(graph));
  REQUIRE(writer);
  REQUIRE(sample::write(graph, **writer));
  auto other = prism_trace_writer::create(folder.file("x.prism"), options_for(graph));
  REQUIRE_FALSE(other);
  CHECK(other.error().code == errc::bad_input);
  CHECK(other.error().context.find("x.prism: another process is writing it") != std::string::npos);
  REQUIRE((*writer)->close());
  CHECK(sample::equal(load(folder.file("x.prism")), graph));
  CHECK(prism_trace_writer::create(folder.file("x.prism"), options_for(graph)));
}

TEST_CASE("a node that no graph has is refused with its rank and number") {
  temporary_folder folder;
  auto refused = [&](auto change) {
    auto graph = sample::small_graph();
    change(graph.ranks[2][2]);  // a collective
    auto writer = prism_trace_writer::create(folder.file("x.prism"), options_for(graph));
    REQUIRE(writer);
    auto wrote = sample::write(graph, **writer);
    return !wrote && wrote.error().code == errc::bad_input
           && wrote.error().context.find("rank 2, node 2:") != std::string::npos;
  };
  CHECK_FALSE(refused([](node&) {}));
  CHECK(refused([](node& n) { n.communicator = 2; }));
  CHECK(refused([](node& n) { n.after = {3}; }));
  CHECK(refused([](node& n) { n.after = {2, 1}; }));
  CHECK(refused([](node& n) { n.after = {0}; }));
  CHECK(refused([](node& n) { n.call_site = 3; }));
  CHECK(refused([](node& n) { n.duration_ns = node_time_ns_max; }));
  CHECK(refused([](node& n) { n.op = operation::send; }));
  CHECK(refused([](node& n) { n.kind = node_kind::send; }));
  CHECK(refused([](node& n) { n.kind = node_kind::compute; }));  // it has a sequence
  CHECK(refused([](node& n) { n.op = operation::broadcast, n.peer = 4; }));
  CHECK(refused([](node& n) { n.op = operation::broadcast, n.peer = -1; }));
  CHECK(refused([](node& n) { n.kind = static_cast<node_kind>(6); }));
}

TEST_CASE("loading stops at its memory limit") {
  temporary_folder folder;
  write_whole(folder.file("x.prism"), sample::small_graph());
  auto reader = prism_trace_reader::open(folder.file("x.prism"));
  REQUIRE(reader);
  auto graph = (*reader)->load(10'000);
  REQUIRE_FALSE(graph);
  CHECK(graph.error().code == errc::no_resources);
  CHECK((*reader)->load(20'000));
}
