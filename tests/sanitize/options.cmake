# What TROUPE_SANITIZE means to the compiler: `address` (with undefined behaviour and the standard library's own checks) or
# `thread`. The first finding ends the test that made it. Included by the top CMakeLists.txt; what the sanitizers are told
# when a program runs is in defaults.cpp.
if(TROUPE_SANITIZE STREQUAL address)
  set(sanitizer_flags -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
elseif(TROUPE_SANITIZE STREQUAL thread)
  set(sanitizer_flags -fsanitize=thread)
else()
  message(FATAL_ERROR "TROUPE_SANITIZE is address, thread or empty, not ${TROUPE_SANITIZE}")
endif()
# What they insert makes GCC see uninitialised variables where there are none.
add_compile_options(${sanitizer_flags} -fno-omit-frame-pointer -Wno-maybe-uninitialized)
add_link_options(${sanitizer_flags})
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -g1")
