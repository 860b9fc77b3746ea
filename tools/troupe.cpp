// troupe: finds the verb and runs it. Each verb is a file of its own, with its own help text.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <new>

#include "messages/error.hpp"
#include "tools/commands.hpp"

namespace {

struct verb {
  const char* name;
  int (*run)(int argc, char** argv);
  const char* what;
};

constexpr verb verbs[] = {
    {"run", troupe::run_command,
     "run a program with every rank real, a few at a time; leaves a trace"},
    {"inspect", troupe::inspect_command, "what is in a trace: operations, traffic, digests"},
    {"convert", troupe::convert_command, "a trace as a timeline (Kineto-shaped JSON, Perfetto)"},
    {"simulate", troupe::simulate_command, "how long a GOAL schedule takes on a modelled network"},
    {"generate", troupe::generate_command,
     "a communication pattern as a GOAL schedule; LLM training steps as a trace"},
    {"torch-plugin", troupe::torch_plugin_command,
     "build the c10d backend against a given interpreter's torch"},
    {"doctor", troupe::doctor_command,
     "what works on this machine, and what to install for the rest"},
};

void print_verbs(std::FILE* to) {
  std::fputs("usage: troupe VERB [OPTIONS]\n\n", to);
  for (const auto& each : verbs) std::fprintf(to, "  %-12s %s\n", each.name, each.what);
  std::fputs("\n`troupe VERB --help` says more.\n", to);
}

/// A standard descriptor that we were started without would become our first file's or socket's,
/// and what we and the ranks print would go there. Now writing to it fails, as it did before.
void fill_standard_descriptors() {
  int opened;
  do opened = ::open("/dev/null", O_RDONLY);
  while (opened >= 0 && opened <= STDERR_FILENO);
  if (opened >= 0) ::close(opened);
}

int run_verb(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  for (const auto& each : verbs)
    if (std::strcmp(name, each.name) == 0) return each.run(argc - 1, argv + 1);
  const bool asked =
      !std::strcmp(name, "--help") || !std::strcmp(name, "-h") || !std::strcmp(name, "help");
  if (!std::strcmp(name, "--version")) {
    std::printf("troupe %s\n", TROUPE_VERSION);
    return 0;
  }
  if (!asked && *name) std::fprintf(stderr, "troupe: there is no verb %s\n", name);
  print_verbs(asked ? stdout : stderr);
  return asked ? 0 : troupe::exit_status(troupe::errc::usage);
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  int status = 0;
  try {
    status = run_verb(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "troupe: out of memory\n");
    status = troupe::exit_status(troupe::errc::no_resources);
  }
  std::cout.flush();
  if (status != 0 || (std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout)) return status;
  std::fprintf(stderr, "troupe: standard output could not be written\n");
  return troupe::exit_status(troupe::errc::no_resources);
}
