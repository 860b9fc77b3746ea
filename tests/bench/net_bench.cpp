// net_bench: what simulating a schedule costs: processor seconds of reading text, of text to
// binary, of reading binary, of simulating it under ATLAHS's set for AI; and the memory of the
// largest.
//
// Usage: net_bench [WORKLOAD]. The workloads are those by which LogGOPSim is known to be slow or
// large. Files lie in the temporary folder and are read warm.
#include <sys/resource.h>

#include <cstdio>
#include <cstring>
#include <ctime>

#include "graph/goal/binary_writer.hpp"
#include "graph/goal/patterns.hpp"
#include "graph/goal/schedule_file.hpp"
#include "graph/goal/text_writer.hpp"
#include "net/loggops_model.hpp"
#include "net/simulation.hpp"
#include "tests/unit/graph/temporary_folder.hpp"

using namespace troupe;

namespace {

struct workload {
  const char *name, *pattern;
  goal::pattern_options options;
};

const workload workloads[] = {
    {"ring 4,096 x 64", "ring", {4096, 1024, 64, 0}},
    {"all-to-all 256", "linear-all-to-all", {256, 8, 1, 0}},
    {"all-to-all 1,024", "linear-all-to-all", {1024, 8, 1, 0}},
    {"broadcast 65,536", "binomial-broadcast", {65536, 8, 1, 0}},
    {"dissemination 65,536", "dissemination", {65536, 8, 1, 0}},
    {"sweep 1,024 x 330", "sweep", {1024, 4800, 330, 50000}},
};

template <class T>
T value_of(result<T> got) {
  if (got) return *std::move(got);
  std::fprintf(stderr, "net_bench: %s\n", to_string(got.error()).c_str());
  std::exit(exit_status(got.error().code));
}

double processor_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <class Write>
void write(const goal::schedule& what, const std::string& path, Write writer) {
  buffered_output to(value_of(output_file::create(path)));
  writer(what, to);
  if (auto closed = to.close(); !closed) value_of(result<int>(closed.error()));
}

void run(const workload& what, const temporary_folder& folder) {
  const auto text = folder.file("a.goal"), binary = folder.file("a.bin");
  write(value_of(goal::make_pattern(what.pattern, what.options)), text, goal::write_text);
  const auto begin = processor_s();
  double text_s = 0;
  {
    const auto of_text = value_of(goal::read_schedule(text));
    text_s = processor_s() - begin;
    write(of_text, binary, goal::write_binary);
  }
  const auto converted = processor_s();
  const auto schedule = value_of(goal::read_schedule(binary));
  const auto read = processor_s();
  loggops_model model(*loggops_preset("atlahs-ai"));
  const auto done = value_of(simulate(schedule, model));
  const auto simulated = processor_s();
  std::printf("%-22s %10u %8.2f %8.2f %8.2f %8.2f %8.0f   %llu ns\n", what.name, schedule.size(),
              text_s, converted - begin, read - converted, simulated - read,
              (simulated - read) * 1e9 / schedule.size(),
              static_cast<unsigned long long>(done.finish_ns));
}

}  // namespace

int main(int argc, char** argv) {
  temporary_folder folder;
  std::printf("%-22s %10s %8s %8s %8s %8s %8s   %s\n", "processor seconds", "operations", "text",
              "to bin", "from bin", "simulate", "ns/op", "finish");
  for (const auto& each : workloads)
    if (argc < 2 || std::strstr(each.name, argv[1])) run(each, folder);
  struct rusage used {};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("largest resident memory: %.0f MiB\n", static_cast<double>(used.ru_maxrss) / 1024);
}
