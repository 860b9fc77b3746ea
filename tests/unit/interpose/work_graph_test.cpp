// work_graph, stream_set, work_plan, stream_capture: what runs after what, and who waits.

#include "interpose/cudart/work_graph.hpp"
#include "interpose/cudart/stream_capture.hpp"
#include "interpose/cudart/stream_set.hpp"
#include "interpose/cudart/work_plan.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace troupe {
namespace {

struct bench {
  std::atomic<std::uint64_t> now{1000};
  std::string log;
  work_graph graph{{[this] { return now.load(); }}};
  stream_set streams{0};

  work step(char name, std::uint64_t lasts = 0) {
    return {work::kind::computes, lasts, [this, name](const node_ptr&) { log += name; }};
  }
  /// Started, and done when somebody says so.
  work open(node_ptr& kept) {
    return {work::kind::starts, 0, [&kept](const node_ptr& node) { kept = node; }};
  }
  node_ptr queue(device_stream& on, work what) {
    on.tail = graph.add(std::move(what), streams.before(on));
    graph.run_ready();
    return on.tail;
  }
};

TEST_CASE("work on one stream runs in order, and only when what is before it is done") {
  bench b;
  auto& stream = b.streams.create(true);
  node_ptr open;
  b.queue(stream, b.step('a'));
  b.queue(stream, b.open(open));
  const auto last = b.queue(stream, b.step('b'));
  CHECK(b.log == "a");
  CHECK_FALSE(last->is_done());
  b.graph.finish(open);
  b.graph.wait(last);
  CHECK(b.log == "ab");
}

TEST_CASE("the legacy stream waits for all blocking streams, and they for it") {
  bench b;
  auto &one = b.streams.create(true), &other = b.streams.create(true),
       &apart = b.streams.create(false);
  node_ptr open;
  b.queue(one, b.open(open));
  b.queue(other, b.step('o'));
  b.queue(b.streams.legacy(), b.step('l'));
  b.queue(other, b.step('p'));
  b.queue(apart, b.step('x'));
  CHECK(b.log == "ox");
  b.graph.finish(open);
  b.graph.wait(other.tail);
  CHECK(b.log == "oxlp");
  b.queue(one, b.open(open = nullptr));
  REQUIRE(open);
  b.queue(apart, b.step('y'));
  CHECK(b.log == "oxlpy");
  b.graph.finish(open);
}

TEST_CASE("a thread that waits runs what an answer from outside makes ready") {
  bench b;
  auto& stream = b.streams.create(true);
  node_ptr open;
  b.queue(stream, b.open(open));
  b.queue(stream, b.step('a'));
  const auto last = b.queue(stream, b.step('b'));
  std::thread outside([&] { b.graph.finish(open); });
  b.graph.wait(last);
  outside.join();
  CHECK(b.log == "ab");
}

TEST_CASE("without a thread that waits a worker goes on") {
  bench b;
  auto& stream = b.streams.create(true);
  node_ptr open;
  b.queue(stream, b.open(open));
  const auto last = b.queue(stream, b.step('a'));
  b.graph.finish(open);
  while (!last->is_done()) std::this_thread::yield();
  CHECK(b.log == "a");
}

TEST_CASE("a host function may wait for what the program does next") {
  bench b;
  auto& stream = b.streams.create(true);
  std::atomic<bool> released = false;
  const auto called = b.queue(stream, {work::kind::calls_host, 0, [&](const node_ptr&) {
                                         while (!released) std::this_thread::yield();
                                         b.log += 'h';
                                       }});
  const auto after = b.queue(stream, b.step('a'));
  CHECK_FALSE(called->is_done());
  released = true;
  b.graph.wait(after);
  CHECK(b.log == "ha");
}

TEST_CASE("times are those of the device: after each other, and not before they are queued") {
  bench b;
  auto &one = b.streams.create(true), &other = b.streams.create(true);
  b.queue(one, b.step('a', 100));
  b.queue(one, b.step('b', 50));
  CHECK(one.tail->end_ns() == 1150);
  b.now = 1120;
  b.queue(other, b.step('c', 10));
  CHECK(other.tail->end_ns() == 1130);
  b.queue(b.streams.legacy(), {});
  CHECK(b.streams.legacy().tail->end_ns() == 1150);
  node_ptr open;
  b.queue(one, b.open(open));
  b.now = 9000;
  b.graph.finish(open);
  CHECK(one.tail->end_ns() == 9000);
}

TEST_CASE("a million markers after one piece are done with it") {
  bench b;
  auto& stream = b.streams.create(true);
  node_ptr open;
  b.queue(stream, b.open(open));
  for (int n = 0; n < 1'000'000; ++n) stream.tail = b.graph.add({}, b.streams.before(stream));
  b.graph.finish(open);
  CHECK(stream.tail->is_done());
}

TEST_CASE("what is queued on a destroyed stream still belongs to the device") {
  bench b;
  auto& stream = b.streams.create(false);
  node_ptr open;
  const auto queued = b.queue(stream, b.open(open));
  CHECK(b.streams.destroy(stream));
  CHECK_FALSE(b.streams.destroy(b.streams.legacy()));
  const auto all = b.streams.everything();
  CHECK(std::find(all.begin(), all.end(), queued) != all.end());
  b.graph.finish(open);
}

TEST_CASE("a captured plan runs as its streams would have, each time it is queued") {
  bench b;
  auto &origin = b.streams.create(true), &other = b.streams.create(true);
  auto plan = std::make_shared<work_plan>();
  auto capture = std::make_shared<stream_capture>(origin, stream_capture::mode::global, plan);
  stream_capture::join(capture, origin, {});
  capture->add({plan_step::type::kernel, b.step('a', 10), {}, {}}, {&origin});
  stream_capture::join(capture, other, origin.captured_tail);
  capture->add({plan_step::type::kernel, b.step('b', 20), {}, {}}, {&other});
  capture->add({plan_step::type::kernel, b.step('c', 5), {}, {}}, {&origin});
  SECTION("not joined again") {
    CHECK(capture->end() == stream_capture::ending::unjoined);
    CHECK_FALSE(other.capture);
  }
  SECTION("spoilt") {
    capture->spoil();
    CHECK(capture->end() == stream_capture::ending::spoilt);
  }
  SECTION("well") {
    stream_capture::join(capture, origin, other.captured_tail);
    CHECK(capture->end() == stream_capture::ending::well);
    CHECK(b.log.empty());
    const auto ready = plan->executable();
    REQUIRE(ready);
    for (int n = 0; n < 2; ++n) {
      origin.tail = ready->queue(b.graph, b.streams.before(origin));
      b.graph.run_ready();
    }
    CHECK(b.log == "abcabc");
    CHECK(origin.tail->end_ns() == 1060);
  }
}

TEST_CASE("a circle of steps is refused, and a copied plan is its own") {
  work_plan plan;
  auto& first = plan.add({});
  auto& second = plan.add({plan_step::type::empty, {}, {}, {&first}});
  work_plan other;
  const auto copies = other.add_all(plan);
  first.after.insert(&second);
  CHECK(plan.executable().error().code == errc::bad_input);
  CHECK(other.executable());
  CHECK(copies[1]->after.contains(copies[0]));
  plan.remove(second);
  CHECK(plan.executable());
  CHECK_FALSE(plan.has(&second));
}

TEST_CASE("a piece knows how much of each order is done when it is") {
  bench b;
  auto &one = b.streams.create(true), &other = b.streams.create(true);
  const auto first = std::make_shared<work_order>(), second = std::make_shared<work_order>();
  node_ptr open;
  one.tail = b.graph.add(b.open(open), b.streams.before(one), first);
  b.graph.run_ready();
  one.tail = b.graph.add(b.step('a'), b.streams.before(one), second);
  const auto apart = b.graph.add(b.step('x'), b.streams.before(other), second);
  const auto both = b.graph.add({}, std::vector{one.tail, apart});
  CHECK(one.tail->covers() == work_node::covered{{first, 1}, {second, 1}});
  CHECK(both->covers() == work_node::covered{{first, 1}, {second, 2}});
  b.graph.finish(open);
  b.graph.wait(both);
  first->awaited = 1;  // what the program knows is not handed on
  CHECK(b.graph.add({}, std::vector{both})->covers() == work_node::covered{{second, 2}});
  first->tail = second->tail = nullptr;
}

TEST_CASE("pieces of one order run one after another, whatever streams they are on") {
  bench b;
  auto &one = b.streams.create(true), &other = b.streams.create(true);
  auto order = std::make_shared<work_order>();
  node_ptr open;
  work_plan plan;
  plan.add({plan_step::type::kernel, b.open(open), order, {}});
  work_plan after;
  after.add({plan_step::type::kernel, b.step('a'), order, {}});
  plan.executable()->queue(b.graph, b.streams.before(one));
  b.graph.run_ready();
  after.executable()->queue(b.graph, b.streams.before(other));
  b.graph.run_ready();
  CHECK(b.log.empty());
  b.graph.finish(open);
  b.graph.wait(order->tail);
  CHECK(b.log == "a");
}

}  // namespace
}  // namespace troupe
