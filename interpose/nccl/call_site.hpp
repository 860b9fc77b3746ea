// call_site: a place in a program's code, as words: "all_reduce_perf+0x1a2b in main".
#pragma once

#include <string>

namespace troupe {

/// Of a return address; each is looked up once.
std::string call_site_of(const void* return_address);

}  // namespace troupe
