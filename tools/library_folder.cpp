#include "tools/library_folder.hpp"

#include <filesystem>

namespace troupe {

result<std::string> library_folder() {
  std::error_code code;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return error{errc::internal, "cannot read /proc/self/exe: " + code.message()};
  const auto prefix = program.parent_path().parent_path();
  if (prefix.string().find_first_of(":;") != std::string::npos)
    return error{errc::bad_input,
                 "troupe cannot run from " + prefix.string()
                     + ": its libraries reach ranks by search paths (PYTHONPATH), in which ':' and "
                       "';' are separators"};
  for (const auto* below : {"lib/troupe", "lib"})
    if (std::filesystem::exists(prefix / below / "libtroupe_client.so", code))
      return (prefix / below).string();
  return error{errc::internal,
               "libtroupe_client.so is neither in " + (prefix / "lib/troupe").string() + " nor in "
                   + (prefix / "lib").string() + ": the installation is incomplete"};
}

}  // namespace troupe
