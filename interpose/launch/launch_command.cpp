#include "interpose/launch/launch_command.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <string_view>

namespace troupe {
namespace {

using words = std::vector<std::string>;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), word) != all.end();
}

/// Where the launcher's own arguments begin, and its name.
struct place {
  std::string name;
  std::size_t at = 0;
};

place find_launcher(const words& command) {
  const auto program = std::filesystem::path(command[0]).filename().string();
  if (program == "torchrun") return {"torchrun", 1};
  if (program == "accelerate" && command.size() > 1 && command[1] == "launch")
    return {"accelerate launch", 2};
  if (is_one_of(program.substr(0, program.find('.')), {"mpirun", "mpiexec", "orterun", "prterun"}))
    return {program, 1};
  if (!program.starts_with("python")) return {};
  for (std::size_t at = 1; at + 1 < command.size() && command[at].starts_with("-"); ++at) {
    if (command[at] == "-W" || command[at] == "-X") ++at;
    if (command[at] != "-m") continue;
    const std::string_view module = command[at + 1];
    if (is_one_of(module, {"torch.distributed.run", "torch.distributed.launch"}))
      return {std::string(module), at + 2};
    if (is_one_of(module, {"accelerate.commands.launch", "accelerate.launch"}))
      return {"accelerate launch", at + 2};
    return {};
  }
  return {};
}

/// Options of an argparse command line up to its first positional argument, `_` for `-` in names:
/// {"nnodes": "1", …}.
std::map<std::string, std::string> options_of(const words& command, std::size_t at) {
  std::map<std::string, std::string> found;
  for (; at < command.size() && command[at].starts_with("-"); ++at) {
    auto name = command[at].substr(command[at].find_first_not_of('-') == std::string::npos
                                       ? command[at].size()
                                       : command[at].find_first_not_of('-'));
    std::string value;
    const auto equals = name.find('=');
    if (equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.erase(equals);
    }
    std::replace(name.begin(), name.end(), '-', '_');
    const bool is_flag =
        is_one_of(name, {"standalone", "m", "module", "no_python", "run_path", "use_env", "h",
                         "help", "multi_gpu", "cpu", "tpu", "quiet", "q", "debug", "same_network",
                         "use_deepspeed", "use_fsdp", "use_megatron_lm"});
    if (equals == std::string::npos && !is_flag && at + 1 < command.size()
        && !command[at + 1].starts_with("--"))  // else a flag that is not known here
      value = command[++at];
    found[name] = value;
  }
  return found;
}

std::uint32_t number_in(const std::string& text) {
  std::uint32_t number = 0;
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc{} && parsed.ptr == end ? number : 0;
}

/// mpirun's many options have as many arities: the count is looked for by its name alone.
result<launch_command> read_mpirun(const words& command, const place& found) {
  if (std::find(command.begin(), command.end(), ":") != command.end())
    return error{errc::usage, found.name + " of several programs (:) is not understood"};
  for (std::size_t at = found.at; at + 1 < command.size(); ++at)
    if (is_one_of(command[at], {"-n", "-np", "--n", "--np", "-c"}))
      return launch_command{found.name, number_in(command[at + 1])};
  return launch_command{found.name, 0};
}

}  // namespace

result<launch_command> recognize_launcher(const words& command) {
  if (command.empty()) return launch_command{};
  const auto found = find_launcher(command);
  if (found.name.empty()) return launch_command{};
  if (is_one_of(found.name.substr(0, found.name.find('.')),
                {"mpirun", "mpiexec", "orterun", "prterun"}))
    return read_mpirun(command, found);
  auto options = options_of(command, found.at);
  const bool is_accelerate = found.name == "accelerate launch";
  for (const auto* machines : {"nnodes", "num_machines"}) {
    const auto given = options.find(machines);
    if (given != options.end() && !is_one_of(given->second, {"1", "1:1"}))
      return error{errc::usage, found.name + " --" + given->first + " " + given->second
                                    + ": one launcher on one machine starts all the ranks"};
  }
  if (is_accelerate) return launch_command{found.name, number_in(options["num_processes"])};
  const auto ranks = options.find("nproc_per_node");
  return launch_command{found.name, ranks == options.end() ? 1 : number_in(ranks->second)};
}

}  // namespace troupe
