// network_parameters: LogGOPS's numbers as a person gives them: by LogGOPSim's letters or by name,
// on the command line or in a YAML file.
#pragma once

#include <string>
#include <string_view>

#include "messages/error.hpp"
#include "net/loggops_parameters.hpp"

namespace troupe {

struct parameter_name {
  const char *letter, *name;  ///< "L", "latency"; letter may be empty
  const char* what;
};
inline constexpr parameter_name parameter_names[] = {
    {"L", "latency", "ns from one host's nic to the other's"},
    {"o", "overhead", "ns of a cpu for each message, at either end"},
    {"g", "gap", "ns between two messages of a nic"},
    {"G", "gap-per-byte", "ns for each byte but the first, fractions too"},
    {"O", "overhead-per-byte", "ns of a cpu for each byte but the first, fractions too"},
    {"S", "eager-limit", "bytes up to which a send does not wait for its recv"},
    {"", "receiver", "how messages are received: atlahs, loggopsim or bandwidth"},
    {"", "matching", "what a busy recv does: requeue (as ATLAHS) or mpi"},
    {"", "noise", "the part by which computing and overheads may take longer, drawn for each"},
    {"", "seed", "of the noise"},
};

/// `key` is a letter or a name. errc::usage says what was expected.
result<void> set_parameter(loggops_parameters& of, std::string_view key, const std::string& value);

/// A YAML map of such keys; `preset` may be among them and comes first. errc::bad_input with file
/// and line.
result<void> read_parameters(loggops_parameters& into, const std::string& path);

/// errc::usage names the presets that there are.
result<loggops_parameters> preset_parameters(const std::string& name);

}  // namespace troupe
