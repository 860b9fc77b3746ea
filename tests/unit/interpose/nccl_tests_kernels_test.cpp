// nccl_tests_kernels: what members give comes to what is expected: for every type and reduction, by
// the plainest arithmetic, in several orders; and the backend's result passes too.
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "gpu/backend.hpp"
#include "interpose/kernels/nccl_tests/reductions.hpp"
#include "interpose/nccl/premultiplied.hpp"

namespace troupe::nccl_tests {
namespace {

template <class T>
word_of<T> bits(T x) {
  return std::bit_cast<word_of<T>>(x);
}
template <class T>
std::uint64_t distance(T a, T b) {
  return bits(a) < bits(b) ? bits(b) - bits(a) : bits(a) - bits(b);
}

/// As wide as the type's arithmetic is done in.
double widened(double x) { return x; }
float widened(float x) { return x; }
template <class T>
float widened(T x) {
  return to_float(x);
}

template <class T, class Integer, class Float>
T of_two(T a, T b, Integer integers, Float floats) {
  if constexpr (is_integer<T>)
    return wrapped<T>(integers(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  else
    return float_format<T>::rounded(floats(widened(a), widened(b)));
}

// Each reduction: what a member puts into it, of two, and what is made of all.
template <class Op>
struct arithmetic {
  template <class T>
  static T put(T x, member) {
    return x;
  }
  template <class T>
  static T two(T a, T b) {
    return of_two(a, b, std::plus<>{}, std::plus<>{});
  }
  template <class T>
  static T all(T x, std::uint32_t) {
    return x;
  }
};
template <>
struct arithmetic<product> : arithmetic<sum> {
  template <class T>
  static T two(T a, T b) {
    return of_two(a, b, std::multiplies<>{}, std::multiplies<>{});
  }
};
template <>
struct arithmetic<premultiplied_sum> : arithmetic<sum> {
  template <class T>
  static T put(T x, member m) {
    const auto scalar = scalar_of(m);
    if constexpr (is_integer<T>)
      return wrapped<T>(static_cast<std::uint64_t>(x) * scalar);
    else
      return float_format<T>::rounded(widened(x) * static_cast<float>(scalar));
  }
};
template <bool is_max>
struct arithmetic<extreme<is_max>> : arithmetic<sum> {
  template <class T>
  static T two(T a, T b) {
    bool a_is_less;
    if constexpr (is_integer<T>)
      a_is_less = a < b;
    else
      a_is_less = widened(a) < widened(b);
    return a_is_less == is_max ? b : a;
  }
};
template <>
struct arithmetic<average> : arithmetic<sum> {
  template <class T>
  static T all(T x, std::uint32_t members) {
    if constexpr (is_integer<T>)
      return static_cast<T>(x < 0 ? -(-static_cast<std::int64_t>(x) / members)
                                  : static_cast<std::uint64_t>(x) / members);
    else
      return float_format<T>::rounded(static_cast<double>(widened(x)) / members);
  }
};

template <class T>
constexpr std::uint64_t tolerance_of_average = is_integer<T> ? 0 : 2;

constexpr std::uint32_t group_sizes[] = {1, 2, 3, 4, 7, 8, 16, 33, 64};

template <class Op, class T>
void check_any_order() {
  constexpr bool is_average = std::is_same_v<Op, average>;
  std::minstd_rand chance(7);
  for (const auto members : group_sizes) {
    if (members == 1) continue;
    std::vector<std::uint32_t> order(members);
    std::iota(order.begin(), order.end(), 0u);
    std::uint64_t wrong = 0, distinct = 0;
    T before{};
    for (std::int64_t index = 0; index < 300; ++index) {
      const element e(42, index);
      std::shuffle(order.begin(), order.end(), chance);
      T folded{};
      for (std::uint32_t n = 0; n < members; ++n) {
        const member m{order[n], members};
        const auto x = arithmetic<Op>::put(Op::template given<T>(e, m), m);
        folded = n == 0 ? x : arithmetic<Op>::two(folded, x);
      }
      const auto result = arithmetic<Op>::all(folded, members);
      const auto wanted = Op::template expected<T>(e, members);
      wrong += distance(result, wanted) > (is_average ? tolerance_of_average<T> : 0);
      distinct += bits(wanted) != bits(before);
      before = wanted;
    }
    INFO(members << " members");
    CHECK(wrong == 0);
    CHECK(distinct > 200);  // the type with the fewest sums, f8e5m2, has a hundred
  }
}

template <class T>
void check_all_reductions() {
  check_any_order<sum, T>();
  check_any_order<product, T>();
  check_any_order<minimum, T>();
  check_any_order<maximum, T>();
  check_any_order<average, T>();
  check_any_order<premultiplied_sum, T>();
}

#define NCCL_TYPES                                                                                \
  std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, f16, bf16, \
      f8e4m3, f8e5m2, float, double

TEMPLATE_TEST_CASE("what members give is reduced to what is expected, in any order", "",
                   NCCL_TYPES) {
  check_all_reductions<TestType>();
}

template <class T>
constexpr element_type type_of() {
  if constexpr (std::is_same_v<T, std::int8_t>) return element_type::i8;
  if constexpr (std::is_same_v<T, std::uint8_t>) return element_type::u8;
  if constexpr (std::is_same_v<T, std::int32_t>) return element_type::i32;
  if constexpr (std::is_same_v<T, std::uint32_t>) return element_type::u32;
  if constexpr (std::is_same_v<T, std::int64_t>) return element_type::i64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return element_type::u64;
  if constexpr (std::is_same_v<T, f16>) return element_type::f16;
  if constexpr (std::is_same_v<T, bf16>) return element_type::bf16;
  if constexpr (std::is_same_v<T, f8e4m3>) return element_type::f8e4m3;
  if constexpr (std::is_same_v<T, f8e5m2>) return element_type::f8e5m2;
  if constexpr (std::is_same_v<T, float>) return element_type::f32;
  if constexpr (std::is_same_v<T, double>) return element_type::f64;
}

template <class T>
T one() {
  if constexpr (is_integer<T>)
    return 1;
  else
    return float_format<T>::rounded(1);
}

template <class Op, class T>
void check_backend(reduction reduce) {
  constexpr std::int64_t count = 1000;
  const auto backend = make_host_backend();
  for (const std::uint32_t members : {2u, 5u, 8u}) {
    std::vector<std::vector<T>> all;
    for (std::uint32_t n = 0; n < members; ++n) {
      auto& mine = all.emplace_back();
      for (std::int64_t index = 0; index < count; ++index)
        mine.push_back(Op::template given<T>({3, index}, {n, members}));
      if constexpr (std::is_same_v<Op, premultiplied_sum>) {
        const T scalar = arithmetic<Op>::put(one<T>(), member{n, members});
        multiply(type_of<T>(), std::as_writable_bytes(std::span(mine)),
                 std::as_bytes(std::span(mine)), &scalar);
      }
    }
    std::vector<std::span<const std::byte>> from;
    for (std::uint32_t n = 1; n < members; ++n) from.push_back(std::as_bytes(std::span(all[n])));
    auto into = std::as_writable_bytes(std::span(all[0]));
    backend->fold(type_of<T>(), reduce, into, from,
                  multiplies_first(reduce, type_of<T>()) ? members : 1);
    backend->finish(type_of<T>(), reduce, into, members);
    std::uint64_t wrong = 0;
    for (std::int64_t index = 0; index < count; ++index)
      wrong += distance(all[0][static_cast<std::size_t>(index)],
                        Op::template expected<T>({3, index}, members))
               > (reduce == reduction::avg ? tolerance_of_average<T> : 0);
    INFO(members << " members");
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("the backend's results are what is expected", "", NCCL_TYPES) {
  check_backend<sum, TestType>(reduction::sum);
  check_backend<product, TestType>(reduction::prod);
  check_backend<minimum, TestType>(reduction::min);
  check_backend<maximum, TestType>(reduction::max);
  check_backend<average, TestType>(reduction::avg);
  check_backend<premultiplied_sum, TestType>(reduction::sum);
}

TEMPLATE_TEST_CASE("what is not reduced differs by seed, by place, and is finite", "", NCCL_TYPES) {
  std::uint64_t same_seed = 0, same_place = 0, not_finite = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const auto first = nothing::given<TestType>({1, index}, {});
    same_seed += bits(first) == bits(nothing::given<TestType>({2, index}, {}));
    same_place += bits(first) == bits(nothing::given<TestType>({1, index + 1}, {}));
    if constexpr (!is_integer<TestType>) not_finite += !std::isfinite(widened(first));
  }
  CHECK(same_seed < 20);
  CHECK(same_place < 20);
  CHECK(not_finite == 0);
}

TEST_CASE("a member that gives nothing, or twice, is found") {
  std::uint64_t without = 0, twice = 0;
  for (std::int64_t index = 0; index < 1000; ++index) {
    const element e(5, index);
    float all = 0;
    for (std::uint32_t n = 0; n < 4; ++n) all += sum::given<float>(e, {n, 4});
    const auto some = sum::given<float>(e, {2, 4}), wanted = sum::expected<float>(e, 4);
    without += all - some != wanted;
    twice += all + some != wanted;
  }
  CHECK(without > 900);
  CHECK(twice > 900);
}

}  // namespace
}  // namespace troupe::nccl_tests
