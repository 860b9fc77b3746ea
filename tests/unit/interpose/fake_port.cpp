#include "fake_port.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <future>
#include <mutex>
#include <new>

namespace troupe {
namespace {

constexpr int patience_ms = 60'000;

bool readable_within(int fd, int ms) {
  pollfd readable{fd, POLLIN, 0};
  return ::poll(&readable, 1, ms) == 1;
}

std::uint64_t rounded_up(std::uint64_t n) { return (n + 63) / 64 * 64; }

std::mutex failures_lock;
std::vector<std::string> failures;

}  // namespace

fake_port::fake_port() {
  static std::atomic<int> count = 0;
  name_ = "troupe-" + std::to_string(::getpid()) + "-fake-port-" + std::to_string(++count);
  listener_ = descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name_.data(), name_.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
  REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0);
  REQUIRE(::listen(listener_.get(), 4) == 0);
  pools_[0] = descriptor(::memfd_create("pool", MFD_CLOEXEC));
  pools_[1] = descriptor(::memfd_create("spill", MFD_CLOEXEC));
  REQUIRE(::ftruncate(pools_[0].get(), pool_bytes) == 0);
  REQUIRE(::ftruncate(pools_[1].get(), spill_bytes) == 0);
  auto* base = ::mmap(nullptr, pool_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pools_[0].get(), 0);
  REQUIRE(base != MAP_FAILED);
  memory_ = {static_cast<std::byte*>(base), pool_bytes};
  page_ = new (base) rank_page{};
}

to_troupe::hello fake_port::accept_rank() {
  REQUIRE(readable_within(listener_.get(), patience_ms));
  peer_ = descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(peer_);
  const auto hello = expect<to_troupe::hello>();
  const auto bytes = encode(to_rank::frame{
      to_rank::welcome{2, 1, {pool_bytes, spill_bytes}, 0, inline_limit, monotonic_ns()}});
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))]{};
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  auto* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const int descriptors[2] = {pools_[0].get(), pools_[1].get()};
  std::memcpy(CMSG_DATA(head), descriptors, sizeof descriptors);
  REQUIRE(::sendmsg(peer_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  expect<to_troupe::take_slot>();
  grant();
  return hello;
}

std::vector<to_troupe::frame> fake_port::next_write() {
  std::vector<to_troupe::frame> frames(inbox_.begin(), inbox_.end());
  inbox_.clear();
  while (frames.empty()) {
    INFO("waiting for the rank to write");
    REQUIRE(readable_within(peer_.get(), patience_ms));
    std::vector<std::uint8_t> buffer(1 << 20);
    const auto got = ::recv(peer_.get(), buffer.data(), buffer.size(), 0);
    REQUIRE(got > 0);
    splitter_.feed({buffer.data(), static_cast<std::size_t>(got)});
    for (;;) {
      auto bytes = splitter_.next();
      REQUIRE(bytes);
      if (!*bytes) break;
      auto frame = decode_to_troupe(**bytes);
      REQUIRE(frame);
      frames.push_back(std::move(*frame));
    }
  }
  return frames;
}

bool fake_port::silent_for(std::chrono::milliseconds time) {
  return inbox_.empty() && !readable_within(peer_.get(), static_cast<int>(time.count()));
}

bool fake_port::closed() {
  char byte;
  return readable_within(peer_.get(), patience_ms) && ::recv(peer_.get(), &byte, 1, 0) == 0;
}

void fake_port::send(const to_rank::frame& frame) {
  const auto bytes = encode(frame);
  REQUIRE(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL)
          == static_cast<ssize_t>(bytes.size()));
}

void fake_port::grant() {
  holds_slot() = 1;
  send(to_rank::granted{});
}

void fake_port::complete(operation_id operation, std::vector<payload> pieces, error why,
                         std::int32_t source) {
  holds_slot() = 1;
  send(to_rank::completed{operation, std::move(why), std::move(pieces), source});
}

std::span<std::byte> fake_port::bytes_of(const region& where) {
  REQUIRE(where.pool == 0);
  return memory_.subspan(where.offset, where.length);
}

region_header& fake_port::header_of(const region& where) {
  return *reinterpret_cast<region_header*>(memory_.data() + where.header);
}

region fake_port::result_region(std::string_view bytes, std::uint32_t readers) {
  const region where{0, next_result_ + sizeof(region_header), bytes.size(), next_result_};
  next_result_ += sizeof(region_header) + rounded_up(bytes.size());
  new (&header_of(where)) region_header{readers};
  std::memcpy(bytes_of(where).data(), bytes.data(), bytes.size());
  return where;
}

region fake_port::give_lease(const to_troupe::lease& wanted) {
  const region extent{0, next_lease_, wanted.size, 0};
  REQUIRE(extent.offset + extent.length <= 48 * MiB);
  next_lease_ += wanted.size;
  send(to_rank::leased{wanted.operation, {}, extent});
  return extent;
}

connected_rank::connected_rank(rank_id rank) {
  auto connecting = std::async(std::launch::async, [&] {
    return rank_client::connect(
        {port.socket_name(), rank, 42, [&](const error& why) { losses.push_back(why); }});
  });
  const auto hello = port.accept_rank();
  auto connected = connecting.get();
  REQUIRE(connected);
  client = std::move(*connected);
  CHECK(hello.rank == rank);
  CHECK(hello.pid == 42);
  CHECK(hello.version == wire_version);
}

connected_rank::~connected_rank() {
  port.hang_up();  // a test that failed leaves threads waiting
  finish();
}

void connected_rank::run(std::function<void(rank_client&)> program) {
  threads_.emplace_back([this, program = std::move(program)] { program(*client); });
}

void connected_rank::finish() {
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  const std::lock_guard hold(failures_lock);
  for (const auto& failure : failures) FAIL_CHECK("in a rank's thread, " << failure);
  failures.clear();
}

communicator_id connected_rank::open(std::vector<rank_id> members) {
  auto opened = client->open_communicator(std::move(members), semantics::gloo, "world");
  REQUIRE(opened);
  return *opened;
}

rank_client::posting all_reduce_of(communicator_id communicator, const troupe_input& input,
                                   std::span<const troupe_output> outputs) {
  return {communicator,
          {operation::all_reduce, element_type::u8, reduction::sum, input.size, 0, 0, {}, {}},
          {&input, 1},
          outputs,
          "train.py:42 in step"};
}

rank_client::posting barrier_of(communicator_id communicator) {
  rank_client::posting made{communicator, {}, {}, {}, {}};
  made.call.op = operation::barrier;
  return made;
}

void note_rank_check(bool holds, const char* what, int line) {
  if (holds) return;
  const std::lock_guard hold(failures_lock);
  failures.push_back("line " + std::to_string(line) + ": " + what);
}

}  // namespace troupe
