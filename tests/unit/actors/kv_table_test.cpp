// kv_table_test: the store behaves as c10d's TCPStore, and waits are answered once, in order.
#include "actors/kv_table.hpp"

#include <catch2/catch.hpp>
#include <random>

using namespace troupe;

namespace {

std::vector<std::uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }

struct store {
  kv_table table;
  kv_table::ticket last = 0;

  std::vector<kv_table::answer> submit(store_request request) {
    return table.submit(++last, std::move(request));
  }
  /// A request that is answered at once, and wakes nobody.
  store_reply ask(store_request request) {
    auto due = submit(std::move(request));
    REQUIRE(due.size() == 1);
    CHECK(due[0].number == last);
    REQUIRE(due[0].reply);
    return *due[0].reply;
  }
  error refused(store_request request) {
    auto due = submit(std::move(request));
    REQUIRE(due.size() == 1);
    REQUIRE_FALSE(due[0].reply);
    return due[0].reply.error();
  }
  std::string get(const std::string& key) {
    auto value = ask({.kind = store_kind::get, .keys = {key}}).value;
    return {value.begin(), value.end()};
  }
  void set(const std::string& key, const std::string& value) {
    ask({.kind = store_kind::set, .keys = {key}, .value = bytes(value)});
  }
  std::int64_t number(store_kind kind, std::vector<std::string> keys, std::int64_t amount = 0) {
    return ask({.kind = kind, .keys = std::move(keys), .amount = amount}).number;
  }
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) {
    auto value = ask({.kind = store_kind::compare_set,
                      .keys = {key},
                      .value = bytes(desired),
                      .expected = bytes(expected)})
                     .value;
    return {value.begin(), value.end()};
  }
};

}  // namespace

TEST_CASE("set replaces, get returns") {
  store kv;
  kv.set("a", "one");
  kv.set("a", "two");
  CHECK(kv.get("a") == "two");
  kv.set("empty", "");
  CHECK(kv.get("empty").empty());
}

TEST_CASE("add counts from zero and stores the sum as text") {
  store kv;
  CHECK(kv.number(store_kind::add, {"n"}, 5) == 5);
  CHECK(kv.number(store_kind::add, {"n"}, -7) == -2);
  CHECK(kv.get("n") == "-2");
  kv.set("m", "40");
  CHECK(kv.number(store_kind::add, {"m"}, 2) == 42);
}

TEST_CASE("add to what is no number is refused and changes nothing") {
  store kv;
  for (auto* text : {"x", "", "12 ", "99999999999999999999"}) {
    kv.set("n", text);
    CHECK(kv.refused({.kind = store_kind::add, .keys = {"n"}, .amount = 1}).code
          == errc::bad_input);
    CHECK(kv.get("n") == text);
  }
}

TEST_CASE("a sum that no 64-bit number holds is refused") {
  store kv;
  kv.number(store_kind::add, {"n"}, INT64_MAX);
  CHECK(kv.refused({.kind = store_kind::add, .keys = {"n"}, .amount = 1}).code == errc::bad_input);
  CHECK(kv.number(store_kind::add, {"n"}, -1) == INT64_MAX - 1);
}

TEST_CASE("compare_set replaces what is as expected and answers what is there then") {
  store kv;
  CHECK(kv.compare_set("k", "old", "new") == "old");  // absent: TCPStore answers the expectation
  CHECK(kv.number(store_kind::check, {"k"}) == 0);
  CHECK(kv.compare_set("k", "", "first") == "first");
  CHECK(kv.compare_set("k", "wrong", "second") == "first");
  CHECK(kv.compare_set("k", "first", "second") == "second");
  CHECK(kv.get("k") == "second");
}

TEST_CASE("check is true when all keys are there") {
  store kv;
  kv.set("a", "");
  CHECK(kv.number(store_kind::check, {"a"}) == 1);
  CHECK(kv.number(store_kind::check, {"a", "b"}) == 0);
  kv.set("b", "");
  CHECK(kv.number(store_kind::check, {"a", "b"}) == 1);
}

TEST_CASE("keys are counted below a prefix") {
  store kv;
  for (const auto* key : {"a", "tcp/1", "tcp/1/x", "tcp/1/y", "tcp/10/x", "u"}) kv.set(key, "");
  CHECK(kv.number(store_kind::num_keys, {"tcp/1/"}) == 2);
  CHECK(kv.number(store_kind::num_keys, {"tcp/"}) == 4);
  CHECK(kv.number(store_kind::num_keys, {"v"}) == 0);
  CHECK(kv.number(store_kind::num_keys, {}) == 6);
}

TEST_CASE("keys are listed below a prefix, each with a zero byte behind it") {
  store kv;
  for (const auto* key : {"a", "tcp/1/y", "tcp/1/x", "tcp/10/x"}) kv.set(key, "value");
  auto listed = [&](std::vector<std::string> keys) {
    return kv.ask({.kind = store_kind::list_keys, .keys = std::move(keys)}).value;
  };
  CHECK(listed({"tcp/1/"}) == bytes(std::string("tcp/1/x\0tcp/1/y\0", 16)));
  CHECK(listed({"v"}).empty());
  CHECK(listed({}).size() == 1 + 7 + 7 + 8 + 4);
}

TEST_CASE("a list of keys that fits no frame is refused") {
  store kv;
  const std::string long_key(60'000, 'k');
  for (unsigned n = 0; n * 60'000 <= kv_table::listed_bytes_max; ++n)
    kv.set(long_key + std::to_string(n), "");
  CHECK(kv.refused({.kind = store_kind::list_keys}).code == errc::no_resources);
}

TEST_CASE("a queue is first in, first out, and no key") {
  store kv;
  auto push = [&](const std::string& value) {
    kv.ask({.kind = store_kind::push, .keys = {"q"}, .value = bytes(value)});
  };
  auto pop = [&] { return kv.ask({.kind = store_kind::pop, .keys = {"q"}}); };
  CHECK(pop().number == 0);
  for (const auto* value : {"one", "", "three"}) push(value);
  CHECK(kv.number(store_kind::queue_length, {"q"}) == 3);
  CHECK(kv.number(store_kind::check, {"q"}) == 1);
  CHECK(kv.number(store_kind::num_keys, {}) == 0);
  CHECK(kv.number(store_kind::delete_key, {"q"}) == 0);
  CHECK(kv.submit({.kind = store_kind::get, .keys = {"q"}}).empty());
  kv.table.give_up(kv.last);
  kv.set("q", "a key of that name");
  for (const auto* value : {"one", "", "three"}) {
    auto taken = pop();
    CHECK(taken.number == 1);
    CHECK(taken.value == bytes(value));
  }
  CHECK(pop().number == 0);
  CHECK(kv.number(store_kind::queue_length, {"q"}) == 0);
  CHECK(kv.get("q") == "a key of that name");
  kv.number(store_kind::delete_key, {"q"});
  CHECK(kv.number(store_kind::check, {"q"}) == 0);
}

TEST_CASE("who waits longest for an element gets the first, and one that gave up none") {
  store kv;
  std::vector<kv_table::ticket> poppers;
  for (int n = 0; n < 3; ++n) {
    CHECK(kv.submit({.kind = store_kind::pop, .keys = {"q"}, .amount = 1}).empty());
    poppers.push_back(kv.last);
  }
  CHECK(kv.submit({.kind = store_kind::wait, .keys = {"q"}}).empty());
  CHECK(kv.table.give_up(poppers[0]) == std::vector<std::string>{"q"});
  for (int n = 1; n < 3; ++n) {
    auto due = kv.submit({.kind = store_kind::push, .keys = {"q"}, .value = bytes("x")});
    REQUIRE(due.size() == 2);  // of the push, and of one pop
    CHECK(due[1].number == poppers[static_cast<std::size_t>(n)]);
    REQUIRE(due[1].reply);
    CHECK(due[1].reply->value == bytes("x"));
    CHECK(due[1].reply->number == 1);
  }
  CHECK(kv.number(store_kind::queue_length, {"q"}) == 0);
  CHECK(kv.submit({.kind = store_kind::push, .keys = {"q"}}).size() == 2);  // the wait
}

TEST_CASE("a queue counts to the limit until it is emptied") {
  store kv;
  const std::vector<std::uint8_t> part(kv_table::value_bytes_max / 2);
  const auto push = [&] {
    return kv.submit({.kind = store_kind::push, .keys = {"q"}, .value = part}).front().reply;
  };
  std::uint64_t parts = 0;
  while (push()) ++parts;
  CHECK(parts == kv_table::held_bytes_max / (part.size() + 1));
  CHECK(push().error().code == errc::no_resources);
  kv.ask({.kind = store_kind::pop, .keys = {"q"}});
  CHECK(push());
}

TEST_CASE("a deleted key is gone") {
  store kv;
  kv.set("a", "1");
  CHECK(kv.number(store_kind::num_keys, {}) == 1);
  CHECK(kv.number(store_kind::delete_key, {"a"}) == 1);
  CHECK(kv.number(store_kind::delete_key, {"a"}) == 0);
  CHECK(kv.number(store_kind::num_keys, {}) == 0);
  CHECK(kv.submit({.kind = store_kind::get, .keys = {"a"}}).empty());
}

TEST_CASE("append makes a key or lengthens its value") {
  store kv;
  kv.ask({.kind = store_kind::append, .keys = {"log"}, .value = bytes("ab")});
  kv.ask({.kind = store_kind::append, .keys = {"log"}, .value = bytes("cd")});
  CHECK(kv.get("log") == "abcd");
}

TEST_CASE("get waits until its key is set, whichever way") {
  using kind = store_kind;
  const store_request setters[] = {
      {.kind = kind::set, .keys = {"k"}, .value = bytes("1")},
      {.kind = kind::add, .keys = {"k"}, .amount = 1},
      {.kind = kind::append, .keys = {"k"}, .value = bytes("1")},
      {.kind = kind::compare_set, .keys = {"k"}, .value = bytes("1")},
  };
  for (const auto& setter : setters) {
    store kv;
    CHECK(kv.submit({.kind = kind::get, .keys = {"k"}}).empty());
    CHECK(kv.submit({.kind = kind::wait, .keys = {"k"}}).empty());
    auto due = kv.submit(setter);
    REQUIRE(due.size() == 3);
    CHECK(due[0].number == 3);
    CHECK(due[1].number == 1);
    CHECK(due[1].reply->value == bytes("1"));
    CHECK(due[2].number == 2);
    CHECK(kv.table.waiting().empty());
  }
}

TEST_CASE("wait for several keys ends with the last of them") {
  store kv;
  CHECK(kv.submit({.kind = store_kind::wait, .keys = {"a", "b", "c"}}).empty());
  kv.set("b", "");
  kv.set("a", "");
  CHECK(kv.table.waiting() == std::vector<std::pair<kv_table::ticket, std::string>>{{1, "c"}});
  CHECK(kv.submit({.kind = store_kind::set, .keys = {"c"}}).size() == 2);
}

TEST_CASE("a request that gives up is never answered, and names what it lacked") {
  store kv;
  kv.submit({.kind = store_kind::wait, .keys = {"a", "b"}});
  kv.set("a", "");
  CHECK(kv.table.give_up(1) == std::vector<std::string>{"b"});
  CHECK(kv.table.give_up(1).empty());
  CHECK(kv.submit({.kind = store_kind::set, .keys = {"b"}}).size() == 1);
}

TEST_CASE("a request without its key is refused") {
  store kv;
  for (auto kind : {store_kind::set, store_kind::get, store_kind::add, store_kind::delete_key,
                    store_kind::compare_set, store_kind::append, store_kind::push, store_kind::pop,
                    store_kind::queue_length})
    CHECK(kv.refused({.kind = kind}).code == errc::bad_input);
}

/// Sets keys "0", "1", … until not even one more of this size would go in.
std::uint64_t fill(store& kv, std::uint64_t value_bytes) {
  std::uint64_t keys = 0, held = 0;
  for (;; ++keys) {
    const auto key = std::to_string(keys);
    held += key.size() + value_bytes;
    if (held > kv_table::held_bytes_max) return keys;
    kv.ask(
        {.kind = store_kind::set, .keys = {key}, .value = std::vector<std::uint8_t>(value_bytes)});
  }
}

TEST_CASE("beyond the limit values are refused, and a refused key does not exist") {
  store kv;
  const std::vector<std::uint8_t> value(kv_table::value_bytes_max);
  const auto keys = static_cast<std::int64_t>(fill(kv, value.size()));
  CHECK(kv.submit({.kind = store_kind::get, .keys = {"b"}}).empty());
  for (auto kind : {store_kind::set, store_kind::append, store_kind::compare_set}) {
    CHECK(kv.refused({.kind = kind, .keys = {"b"}, .value = value}).code == errc::no_resources);
    CHECK(kv.number(store_kind::check, {"b"}) == 0);
    CHECK(kv.number(store_kind::num_keys, {}) == keys);
  }
  kv.ask({.kind = store_kind::set, .keys = {"0"}, .value = bytes("short again")});
  CHECK(kv.submit({.kind = store_kind::set, .keys = {"b"}, .value = value}).size() == 2);
}

TEST_CASE("a value that no answer could carry is refused, also one that grew") {
  store kv;
  const std::vector<std::uint8_t> half(kv_table::value_bytes_max / 2 + 1);
  kv.ask({.kind = store_kind::append, .keys = {"a"}, .value = half});
  CHECK(kv.refused({.kind = store_kind::append, .keys = {"a"}, .value = half}).code
        == errc::no_resources);
  CHECK(kv.ask({.kind = store_kind::get, .keys = {"a"}}).value.size() == half.size());
  const std::vector<std::uint8_t> large(kv_table::value_bytes_max + 1);
  for (auto kind : {store_kind::set, store_kind::compare_set})
    CHECK(kv.refused({.kind = kind, .keys = {"b"}, .value = large}).code == errc::no_resources);
}

TEST_CASE("keys count towards the limit as values do") {
  store kv;
  fill(kv, kv_table::value_bytes_max);
  const auto name = [](char first) { return std::string(60'000, first); };
  char first = 'a';
  while (kv.submit({.kind = store_kind::set, .keys = {name(first)}}).front().reply) ++first;
  CHECK(kv.refused({.kind = store_kind::set, .keys = {name(first)}}).code == errc::no_resources);
  kv.number(store_kind::delete_key, {"0"});
  kv.ask({.kind = store_kind::set, .keys = {name(first)}});
}

TEST_CASE("whatever is set and deleted, each wait is answered once, when all its keys are there") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    std::mt19937 random(seed);
    store kv;
    std::set<std::string> present;
    std::map<kv_table::ticket, std::vector<std::string>> waiting;
    auto some_key = [&] { return "k" + std::to_string(random() % 6); };
    for (int step = 0; step < 300; ++step) {
      store_request request;
      request.keys = {some_key()};
      switch (random() % 4) {
        case 0:
          request.kind = store_kind::delete_key;
          present.erase(request.keys[0]);
          break;
        case 1:
          request.kind = random() % 2 ? store_kind::set : store_kind::append;
          present.insert(request.keys[0]);
          break;
        default:
          request.kind = store_kind::wait;
          for (unsigned n = random() % 3; n > 0; --n) request.keys.push_back(some_key());
          waiting[kv.last + 1] = request.keys;
      }
      const bool waits = request.kind == store_kind::wait;
      std::set<kv_table::ticket> expected, answered;
      if (!waits) expected.insert(kv.last + 1);
      for (const auto& [number, keys] : waiting)
        if (std::all_of(keys.begin(), keys.end(), [&](auto& key) { return present.contains(key); }))
          expected.insert(number);
      for (const auto& answer : kv.submit(request)) {
        CHECK(answer.reply);
        CHECK(answered.insert(answer.number).second);
        waiting.erase(answer.number);
      }
      CHECK(answered == expected);
    }
    CHECK(kv.table.waiting().size() == waiting.size());
  }
}
