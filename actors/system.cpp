#include "actors/system.hpp"

#include <caf/atom.hpp>
#include <caf/message.hpp>

#include "actors/virtual_scheduler.hpp"
#include "actors/wall_scheduler.hpp"
#include "messages/error.hpp"

namespace troupe {
namespace {

void name_errors(caf::actor_system_config& config) {
  config.add_error_category(
      caf::atom("troupe"), [](std::uint8_t code, caf::atom_value, const caf::message& context) {
        auto text = context.match_elements<std::string>() ? context.get_as<std::string>(0) : "";
        return to_string(error{static_cast<errc>(code), text});
      });
}

}  // namespace

virtual_time_config::virtual_time_config() {
  load<virtual_scheduler>();
  name_errors(*this);
}

wall_time_config::wall_time_config() {
  load<wall_scheduler>();
  name_errors(*this);
}

}  // namespace troupe
