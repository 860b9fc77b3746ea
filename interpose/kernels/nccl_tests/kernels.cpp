// kernels: host functions for the kernels with which nccl-tests fills its vectors and checks what
// became of them (`-c 1`): troupe_kernel.h's table.
//
// They are found by the names and arguments that nccl-tests 2.13 and later gives its kernels; what
// they compute is our own (reductions.hpp): filling and checking need only agree with each other
// and with the reductions. The kernels lie in an unnamed namespace, whose name differs from build
// to build: a '*' stands for it.
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "interpose/cudart/troupe_kernel.h"
#include "interpose/kernels/nccl_tests/reductions.hpp"

namespace {

using namespace troupe::nccl_tests;
using troupe::bf16;
using troupe::f16;
using troupe::f8e4m3;
using troupe::f8e5m2;

template <class T>
T argument(void** arguments, int number) {
  T value;
  std::memcpy(&value, arguments[number], sizeof value);
  return value;
}

/// Each of `vectors` is read or written once; the count is argument `at`.
template <class T, int vectors, int at = 1>
void moves(const troupe_launch*, void** arguments, troupe_cost* cost) {
  cost->bytes = vectors * static_cast<double>(sizeof(T))
                * static_cast<double>(argument<std::int64_t>(arguments, at));
}

/// (T* elements, intptr_t count, Op, int members, int member, uint64_t seed, intptr_t first)
template <class Op, class T>
void prepare_input(const troupe_launch*, void** arguments) {
  auto* const elements = argument<T*>(arguments, 0);
  const auto count = argument<std::int64_t>(arguments, 1);
  const member me{argument<std::uint32_t>(arguments, 4), argument<std::uint32_t>(arguments, 3)};
  const auto seed = argument<std::uint64_t>(arguments, 5);
  const auto first = argument<std::int64_t>(arguments, 6);
  for (std::int64_t n = 0; n < count; ++n)
    elements[n] = Op::template given<T>({seed, first + n}, me);
}

/// (T* elements, intptr_t count, Op, int members, uint64_t seed, intptr_t first)
template <class Op, class T>
void prepare_expected(const troupe_launch*, void** arguments) {
  auto* const elements = argument<T*>(arguments, 0);
  const auto count = argument<std::int64_t>(arguments, 1);
  const auto members = argument<std::uint32_t>(arguments, 3);
  const auto seed = argument<std::uint64_t>(arguments, 4);
  const auto first = argument<std::int64_t>(arguments, 5);
  for (std::int64_t n = 0; n < count; ++n)
    elements[n] = Op::template expected<T>({seed, first + n}, members);
}

/// Further apart than so many units in the last place?
template <class Word>
bool differ(Word a, Word b, std::uint32_t tolerance) {
  return (a < b ? std::uint64_t{b} - a : std::uint64_t{a} - b) > tolerance;
}

void add(std::int64_t* to, std::int64_t wrong) {
  std::atomic_ref<std::int64_t>(*to).fetch_add(wrong);
}

/// (const Word* results, const Word* expected, intptr_t count, unsigned tolerance, int64_t* wrong)
template <class Word>
void verify_prepared(const troupe_launch*, void** arguments) {
  const auto* const results = argument<const Word*>(arguments, 0);
  const auto* const expected = argument<const Word*>(arguments, 1);
  const auto count = argument<std::int64_t>(arguments, 2);
  const auto tolerance = argument<std::uint32_t>(arguments, 3);
  std::int64_t wrong = 0;
  for (std::int64_t n = 0; n < count; ++n) wrong += differ(results[n], expected[n], tolerance);
  add(argument<std::int64_t*>(arguments, 4), wrong);
}

/// (const T* results, intptr_t count, Op, int members, uint64_t seed, intptr_t first,
///  unsigned tolerance, int64_t* wrong)
template <class Op, class T>
void verify_inline(const troupe_launch*, void** arguments) {
  const auto* const results = argument<const T*>(arguments, 0);
  const auto count = argument<std::int64_t>(arguments, 1);
  const auto members = argument<std::uint32_t>(arguments, 3);
  const auto seed = argument<std::uint64_t>(arguments, 4);
  const auto first = argument<std::int64_t>(arguments, 5);
  const auto tolerance = argument<std::uint32_t>(arguments, 6);
  std::int64_t wrong = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    const T expected = Op::template expected<T>({seed, first + n}, members);
    wrong += differ(std::bit_cast<word_of<T>>(results[n]), std::bit_cast<word_of<T>>(expected),
                    tolerance);
  }
  add(argument<std::int64_t*>(arguments, 7), wrong);
}

// Of the reduction, which is an empty class or the number of members, its first byte is copied.
constexpr std::size_t input_sizes[] = {8, 8, 1, 4, 4, 8, 8};
constexpr std::size_t expected_sizes[] = {8, 8, 1, 4, 8, 8};
constexpr std::size_t prepared_sizes[] = {8, 8, 8, 4, 8};
constexpr std::size_t inline_sizes[] = {8, 8, 1, 4, 8, 8, 4, 8};

}  // namespace

// The table is one line a type and a reduction. `type` and `word` are the mangled names of T and of
// the integer of its size, `name` that of the reduction.
#define TROUPE_REDUCTION(name, Op, type, word, T)                                                  \
  {"_ZN*13prepareInput2I" type "NS_" name "EEEvPT_lT0_iiml", prepare_input<Op, T>, 7, input_sizes, \
   moves<T, 1>},                                                                                   \
      {"_ZN*16prepareExpected2I" type "NS_" name "EEEvPT_lT0_iml", prepare_expected<Op, T>, 6,     \
       expected_sizes, moves<T, 1>},                                                               \
      {"_ZN*13verifyInline2I" type word "NS_" name "EEEvPKT_lT1_imljPl", verify_inline<Op, T>, 8,  \
       inline_sizes, moves<T, 1>},
#define TROUPE_NUMBER(type, word, T)                       \
  TROUPE_REDUCTION("9ReduceNil", nothing, type, word, T)   \
  TROUPE_REDUCTION("9ReduceSum", sum, type, word, T)       \
  TROUPE_REDUCTION("10ReduceProd", product, type, word, T) \
  TROUPE_REDUCTION("9ReduceMin", minimum, type, word, T)   \
  TROUPE_REDUCTION("9ReduceMax", maximum, type, word, T)   \
  TROUPE_REDUCTION("9ReduceAvg", average, type, word, T)   \
  TROUPE_REDUCTION("15ReducePreMulSum", premultiplied_sum, type, word, T)
#define TROUPE_WORD(word, T)                                                             \
  {"_ZN*14verifyPreparedI" word "EEvPKT_S*_ljPl", verify_prepared<T>, 5, prepared_sizes, \
   moves<T, 2, 2>},

const troupe_host_kernel troupe_host_kernels[] = {
    // clang-format off
    TROUPE_NUMBER("a", "h", std::int8_t)
    TROUPE_NUMBER("h", "h", std::uint8_t)
    TROUPE_NUMBER("i", "j", std::int32_t)
    TROUPE_NUMBER("j", "j", std::uint32_t)
    TROUPE_NUMBER("l", "m", std::int64_t)
    TROUPE_NUMBER("m", "m", std::uint64_t)
    TROUPE_NUMBER("6__half", "t", f16)
    TROUPE_NUMBER("13__nv_bfloat16", "t", bf16)
    TROUPE_NUMBER("13__nv_fp8_e4m3", "h", f8e4m3)
    TROUPE_NUMBER("13__nv_fp8_e5m2", "h", f8e5m2)
    TROUPE_NUMBER("f", "j", float)
    TROUPE_NUMBER("d", "m", double)
    TROUPE_WORD("h", std::uint8_t)
    TROUPE_WORD("t", std::uint16_t)
    TROUPE_WORD("j", std::uint32_t)
    TROUPE_WORD("m", std::uint64_t)
    // clang-format on
    {nullptr, nullptr, 0, nullptr, nullptr}};
