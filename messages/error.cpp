#include "messages/error.hpp"

namespace troupe {

const char* to_string(errc code) {
  switch (code) {
    case errc::none:
      return "done";
#define TROUPE_ERRC(name, status, text) \
  case errc::name:                      \
    return #name;
#include "messages/errc.def"
#undef TROUPE_ERRC
  }
  return "unknown";
}

const char* sentence(errc code) {
  switch (code) {
    case errc::none:
      return "done";
#define TROUPE_ERRC(name, status, text) \
  case errc::name:                      \
    return text;
#include "messages/errc.def"
#undef TROUPE_ERRC
  }
  return "unknown";
}

int exit_status(errc code) {
  switch (code) {
    case errc::none:
      return 0;
#define TROUPE_ERRC(name, status, text) \
  case errc::name:                      \
    return status;
#include "messages/errc.def"
#undef TROUPE_ERRC
  }
  return 70;
}

std::string to_string(const error& why) {
  return why.context.empty() ? sentence(why.code) : why.context;
}

}  // namespace troupe
