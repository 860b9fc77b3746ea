#include "actors/errors.hpp"

#include <caf/atom.hpp>
#include <caf/deep_to_string.hpp>
#include <caf/make_message.hpp>

namespace troupe {

constexpr auto category = caf::atom("troupe");

caf::error to_caf(const error& why) {
  return {static_cast<std::uint8_t>(why.code), category, caf::make_message(why.context)};
}

error from_caf(const caf::error& why) {
  if (why.category() != category) return {errc::internal, "actor: " + caf::deep_to_string(why)};
  auto& context = why.context();
  return {static_cast<errc>(why.code()),
          context.match_elements<std::string>() ? context.get_as<std::string>(0) : std::string{}};
}

}  // namespace troupe
