#include "interpose/client/conversation.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace troupe {

namespace {

/// While we wait and believe to hold the slot we look this often whether it was taken from us.
constexpr std::chrono::nanoseconds slot_check_period = std::chrono::milliseconds(50);
/// How soon a thread that was woken runs.
constexpr std::chrono::nanoseconds woken_within = std::chrono::milliseconds(1);

}  // namespace

std::uint64_t monotonic_ns() {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000
         + static_cast<std::uint64_t>(now.tv_nsec);
}

/// The calling thread's seat; gives it up when the thread ends.
struct seat_holder {
  conversation* with{};
  thread_seat* seat{};
  void drop() {
    if (!with) return;
    auto hold = with->lock();
    with->seats_.leave(seat);
    with->cores_.go_on();
    with->declare_if_blocked(hold);
    with->flush(hold);
    with = nullptr;
  }
  ~seat_holder() { drop(); }
};

namespace {

thread_local seat_holder my_seat;

}  // namespace

conversation::conversation(connection socket, mapped_pools pools, rank_page* page,
                           loss_handler on_loss)
    : socket_(std::move(socket)),
      pools_(std::move(pools)),
      page_(page),
      on_loss_(std::move(on_loss)) {}

conversation::~conversation() {
  {
    auto hold = lock();
    left_ = true;
    if (gone_.code == errc::none) gone_ = {errc::usage, "the rank has left the run"};
    socket_.shut_down();
    changed_.notify_all();
  }
  if (reader_.joinable()) reader_.join();
  if (my_seat.with == this) my_seat.with = nullptr;
}

void conversation::post(const to_troupe::frame& frame) { outbox_.post(frame); }

void conversation::note_awaited(operation_id operation) {
  outbox_.note_awaited(operation, monotonic_ns());
}

void conversation::flush(locked&) {
  if (outbox_.bytes().empty()) return;
  if (gone_.code == errc::none)
    if (auto sent = socket_.send(outbox_.bytes()); !sent) lose(sent.error());
  outbox_.clear();
}

thread_seat& conversation::seat(locked& hold) {
  if (my_seat.with == this) return *my_seat.seat;
  if (my_seat.with) {  // the seat of another conversation
    hold.unlock();
    my_seat.drop();
    hold.lock();
  }
  my_seat.with = this;
  my_seat.seat = seats_.take();
  return *my_seat.seat;
}

thread_seat* conversation::seat_if_any() { return my_seat.with == this ? my_seat.seat : nullptr; }

/// What those other threads do may be work, or a wait of theirs: the keeper of the slots decides.
void conversation::note_parked(locked&) {
  if (!seats_.any_parked() || page_->parked.load(std::memory_order_relaxed) != 0) return;
  if (seats_.others_run(nullptr, [&](auto operation) { return operations_.is_pending(operation); }))
    return;
  if (++parks_ == 0) ++parks_;
  page_->parked.store(parks_, std::memory_order_relaxed);
}

void conversation::declare_if_blocked(locked& hold) {
  note_parked(hold);
  if (slot_asked_ || entering_ > 0 || gone_.code != errc::none) return;
  auto waits = seats_.all_blocked([&](auto operation) { return operations_.is_pending(operation); },
                                  [&] { return operations_.watched(); });
  if (!waits) return;
  if (!holds_slot_
      && std::includes(blocked_on_.begin(), blocked_on_.end(), waits->operations.begin(),
                       waits->operations.end()))
    return;
  give_up(hold, std::move(*waits));
}

void conversation::declare_lost_slot(locked& hold) {
  if (gone_.code != errc::none || !holds_slot_ || slot_asked_
      || page_->holds_slot.load(std::memory_order_acquire))
    return;
  auto waits = seats_.awaited_operations([&] { return operations_.watched(); });
  std::erase_if(waits.operations,
                [&](auto operation) { return !operations_.is_pending(operation); });
  if (!waits.operations.empty()) give_up(hold, std::move(waits));
}

void conversation::give_up(locked& hold, thread_seats::waits waits) {
  holds_slot_ = false;
  blocked_on_ = waits.operations;
  if (reader_thread_) waits.threads.push_back(reader_thread_);
  cores_.remember(waits.threads);
  post(to_troupe::blocked{waits.reason, std::move(waits.operations), monotonic_ns(),
                          std::move(waits.threads), waits.takes_signals});
  flush(hold);
}

bool conversation::lacks_slot() const {
  return gone_.code == errc::none
         && (!holds_slot_ || slot_asked_ || !page_->holds_slot.load(std::memory_order_acquire));
}

void conversation::ensure_slot(locked& hold, callbacks mode) {
  ++entering_;  // the slot that comes is this thread's, seated or not
  while (lacks_slot()) {
    if (!slot_asked_) {
      slot_asked_ = true;
      post(to_troupe::take_slot{});
    }
    await(hold, never, mode, [&] { return !slot_asked_; });
  }
  --entering_;
  note_running(hold);
}

void conversation::yield_slot(locked& hold, callbacks mode) {
  ensure_slot(hold, mode);
  auto is_pending = [&](auto operation) { return operations_.is_pending(operation); };
  auto& mine = seat(hold);
  mine.polled = true;
  if (gone_.code != errc::none || seats_.others_work(&mine, is_pending)) return;
  slot_asked_ = true;
  post(to_troupe::yielded{monotonic_ns()});
  await(hold, never, mode, [&] { return !slot_asked_; });
}

void conversation::settle(locked& hold, callbacks mode) {
  auto* mine = seat_if_any();
  const auto before = mine ? *mine : thread_seat{};
  while (!arrivals_.empty() || (mode == callbacks::run && !laid_out_.empty())) {
    if (mine) mine->now = thread_seat::state::running;  // callbacks are user code
    if (!arrivals_.empty()) {
      auto arrived = std::move(arrivals_.front());
      arrivals_.pop_front();
      const auto* record = operations_.find(arrived.operation);
      hold.unlock();
      lay_out(arrived, *record);
      hold.lock();
      laid_out_.push_back(std::move(arrived));
      if (mode == callbacks::later) changed_.notify_all();  // whoever waits for it goes on with it
      continue;
    }
    auto through = std::move(laid_out_.front());
    laid_out_.pop_front();
    auto* record = operations_.find(through.operation);
    record->why = std::move(through.answer.why);
    record->finishing = std::this_thread::get_id();
    if (record->done) {
      hold.unlock();
      record->done(record->argument, static_cast<int>(record->why.code),
                   record->why.code == errc::none ? "" : record->why.context.c_str(),
                   through.answer.source);
      hold.lock();
    }
    if (record->watched) futures_.remove(through.operation);
    operations_.complete(through.operation,
                         seats_.waits_for(through.operation)
                             || (mine && before.now == thread_seat::state::waiting
                                 && before.operation == through.operation));
    changed_.notify_all();
  }
  if (mine) *mine = before;
}

/// Copies the pieces into the outputs, hands regions back, and notes what went wrong in the answer.
void conversation::lay_out(arrival& arrived, const operation_record& record) {
  auto& answer = arrived.answer;
  std::uint64_t expected = 0, got = 0;
  for (const auto& output : record.outputs) expected += output.size;
  std::vector<std::span<const std::byte>> pieces;
  std::vector<region_header*> headers;
  for (const auto& piece : answer.pieces) {
    if (const auto* bytes = std::get_if<inline_bytes>(&piece)) {
      pieces.push_back(std::as_bytes(std::span(*bytes)));
    } else if (const auto* where = std::get_if<region>(&piece)) {
      auto bytes = pools_.bytes_of(*where);
      auto header = pools_.header_of(*where);
      if (!bytes || !header) {
        answer.why = bytes ? header.error() : bytes.error();
        break;
      }
      pieces.push_back(*bytes);
      headers.push_back(*header);
    }
  }
  for (auto piece : pieces) got += piece.size();
  if (answer.why.code == errc::none && got != expected && !record.abandoned)
    answer.why = {errc::mismatch, record.name + ": the result has " + std::to_string(got)
                                      + " bytes, the outputs have " + std::to_string(expected)};
  if (answer.why.code == errc::none && !record.abandoned) {
    auto into = record.outputs.begin();
    std::uint64_t filled = 0;
    for (auto piece : pieces)
      while (!piece.empty()) {
        const auto part = std::min<std::uint64_t>(piece.size(), into->size - filled);
        if (part) std::memcpy(static_cast<std::byte*>(into->data) + filled, piece.data(), part);
        piece = piece.subspan(part);
        if ((filled += part) == into->size) ++into, filled = 0;
      }
  }
  for (auto* header : headers) header->state.fetch_sub(1, std::memory_order_release);
}

void conversation::drain(locked& hold, callbacks mode) {
  flush(hold);
  if (!reading_ && gone_.code == errc::none) read(hold, moment{});
  settle(hold, mode);
}

/// The answer that this thread waits for has come, and another thread lays it out or runs its
/// callback: it will tell. Who reads the socket meanwhile would not hear of it.
bool conversation::is_with_another_thread() {
  const auto* mine = seat_if_any();
  if (!mine || mine->now != thread_seat::state::waiting) return false;
  const auto* record = operations_.find(mine->operation);
  return record && record->now == operation_record::state::arrived;
}

bool conversation::step(locked& hold, moment until) {
  declare_if_blocked(hold);
  flush(hold);
  if (gone_.code != errc::none) return true;
  const auto now = std::chrono::steady_clock::now();
  if (until <= now) return false;
  const bool may_lose_slot = holds_slot_ && !slot_asked_;
  const auto look_again = may_lose_slot ? std::min(until, now + slot_check_period) : until;
  if (!reading_ && !is_with_another_thread())
    read(hold, look_again);
  else if (look_again == never)
    changed_.wait(hold);
  else
    changed_.wait_until(hold, look_again);
  cores_.unbind();  // callbacks may come next
  declare_lost_slot(hold);
  return true;
}

void conversation::read(locked& hold, moment until) {
  reading_ = true;
  std::vector<to_rank::frame> frames;
  hold.unlock();
  auto received = socket_.receive(frames, until);
  hold.lock();
  reading_ = false;
  for (auto& frame : frames) handle(frame);
  if (!received) lose(received.error());
  changed_.notify_all();
}

void conversation::handle(to_rank::frame& frame) {
  if (std::holds_alternative<to_rank::granted>(frame)) {
    slot_asked_ = false;
    hold_slot();
  } else if (auto* completed = std::get_if<to_rank::completed>(&frame)) {
    if (auto* record = answered(completed->operation, operation_record::kind::call)) {
      record->now = operation_record::state::arrived;
      arrivals_.push_back({completed->operation, std::move(*completed)});
    }
  } else if (auto* stored = std::get_if<to_rank::stored>(&frame)) {
    if (auto* record = answered(stored->operation, operation_record::kind::store)) {
      record->why = std::move(stored->why);
      record->reply = std::move(stored->reply);
      record->now = operation_record::state::complete;
    }
  } else if (auto* leased = std::get_if<to_rank::leased>(&frame)) {
    if (auto* record = answered(leased->operation, operation_record::kind::lease)) {
      record->why = std::move(leased->why);
      record->leased = leased->region;
      record->now = operation_record::state::complete;
    }
  } else {
    lose({errc::bad_input, "a second greeting from the runner"});
  }
}

/// The pending operation that an answer is for; null (and lost) when there is no such.
operation_record* conversation::answered(operation_id operation, operation_record::kind what) {
  auto* record = operations_.find(operation);
  if (!record || record->what != what || record->now != operation_record::state::pending) {
    lose({errc::bad_input,
          "an answer to operation " + std::to_string(operation.value) + ", which waits for none"});
    return nullptr;
  }
  if (std::binary_search(blocked_on_.begin(), blocked_on_.end(), operation)) hold_slot();
  return record;
}

void conversation::hold_slot() {
  holds_slot_ = true;
  blocked_on_.clear();
  seats_.forget_polls();
}

void conversation::lose(error why) {
  if (gone_.code != errc::none) return;
  gone_ = std::move(why);
  slot_asked_ = false;
  for (auto operation : operations_.pending()) {
    auto& record = *operations_.find(operation);
    record.why = gone_;
    if (record.what == operation_record::kind::call) {
      record.now = operation_record::state::arrived;
      arrivals_.push_back({operation, {operation, gone_, {}, -1}});
    } else {
      record.now = operation_record::state::complete;
    }
  }
  changed_.notify_all();
  if (!left_ && on_loss_) on_loss_(gone_);
}

void conversation::start_reader(locked& hold) {
  if (reader_.joinable() || gone_.code != errc::none) return;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's own threads'
  try {
    reader_ = std::thread([this] { run_reader(); });
  } catch (const std::system_error& why) {
    lose({errc::no_resources,
          std::string("no thread for the answers from the runner: ") + why.what()});
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // Until its number is known the runner would take it for a thread that might still act.
  changed_.wait(hold, [&] { return reader_thread_ != 0 || gone_.code != errc::none; });
}

void conversation::run_reader() {
  auto hold = lock();
  reader_thread_ = ::gettid();
  changed_.notify_all();
  auto look_at_unseen = never;  // whatever is read meanwhile
  while (gone_.code == errc::none) {
    const bool ran_callbacks = !arrivals_.empty() || !laid_out_.empty();
    settle(hold, callbacks::run);
    if (gone_.code != errc::none) break;
    // A callback may have woken a thread that waits unseen, or none: it has a moment to say so.
    const auto now = std::chrono::steady_clock::now();
    if (ran_callbacks && seats_.any_unseen()) look_at_unseen = now + woken_within;
    const auto until = std::min(look_at_unseen, holds_slot_ ? now + slot_check_period : never);
    if (!reading_)
      read(hold, until);
    else if (until == never)
      changed_.wait(hold);
    else
      changed_.wait_until(hold, until);
    cores_.unbind();
    declare_lost_slot(hold);
    if (std::chrono::steady_clock::now() >= look_at_unseen) {
      look_at_unseen = never;
      declare_if_blocked(hold);
      flush(hold);
    }
  }
  settle(hold, callbacks::run);
}

void conversation::leave(locked& hold) {
  if (gone_.code != errc::none) return;
  post(to_troupe::leave{});
  flush(hold);
  left_ = true;
  if (gone_.code == errc::none) gone_ = {errc::usage, "the rank has left the run"};
  changed_.notify_all();
}

void conversation::abandon_in_child() {
  my_seat.with = nullptr;
  socket_.close_in_child();
}

}  // namespace troupe
