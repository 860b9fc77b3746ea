#include "interpose/nccl/call_site.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

namespace troupe {
namespace {

std::string look_up(const void* address) {
  Dl_info where{};
  if (::dladdr(address, &where) == 0 || !where.dli_fname) return {};
  std::string text = where.dli_fname;
  text.erase(0, text.find_last_of('/') + 1);
  char offset[32];
  std::snprintf(offset, sizeof offset, "+%#zx",
                static_cast<std::size_t>(static_cast<const char*>(address)
                                         - static_cast<const char*>(where.dli_fbase)));
  text += offset;
  if (!where.dli_sname) return text;
  int status = 0;
  char* readable = abi::__cxa_demangle(where.dli_sname, nullptr, nullptr, &status);
  text += std::string(" in ") + (readable ? readable : where.dli_sname);
  std::free(readable);
  return text;
}

}  // namespace

std::string call_site_of(const void* return_address) {
  static std::mutex lock;
  static auto* known = new std::map<const void*, std::string>;
  const std::lock_guard hold(lock);
  const auto [at, fresh] = known->try_emplace(return_address);
  if (fresh) at->second = look_up(return_address);
  return at->second;
}

}  // namespace troupe
