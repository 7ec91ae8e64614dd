// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/worker.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::flow {

namespace {

/// Reports of brief tasks leave together, but none waits for longer than this.
constexpr std::int64_t report_within_ns = 100'000;
/// They wait for the next task of the same function alone, when the last one was as brief as this.
constexpr double brief_s = 20e-6;
constexpr std::size_t reports_bytes_max = 16 * 1024;

}  // namespace

class Worker::Waits final : public progress::Waiting {
  public:
    explicit Waits(Worker& worker) : worker_(worker) {}
    Seen look() override {
        const bool moved = worker_.work();
        if (worker_.stopped_ && worker_.mailbox_.sent()) {
            return Seen::End;
        }
        return moved ? Seen::Movement : Seen::Nothing;
    }
    void look_around(double waited_s) override {
        progress::look_out(waited_s);
        if (worker_.members_.is_dead(worker_.lead_)) {
            TaskFailure{"PeerLost", "the process died", worker_.lead_, {}}.raise();
        }
    }

  private:
    Worker& worker_;
};

void Worker::serve() {
    Waits waits(*this);
    progress::BackOff back_off(members_.ranks_per_core());
    progress::wait(waits, back_off);
}

/// One turn; true when there was something to do.
bool Worker::work() {
    bool moved = take_orders();
    if (orders_.empty()) {
        flush();
        return moved;
    }
    Order order = std::move(orders_.front());
    orders_.pop_front();
    carry_out(std::move(order));
    return true;
}

bool Worker::take_orders() {
    bool taken = false;
    while (auto message = mailbox_.poll(tag_orders)) {
        ByteReader in(message->bytes);
        while (!in.done()) {
            Order order = Order::read(in);
            stopping_ = stopping_ || order.word == Word::Stop;
            if (order.word == Word::Lost) {
                lost_.insert(order.ranks.front());
            } else {
                orders_.push_back(std::move(order));
            }
        }
        taken = true;
    }
    return taken;
}

bool Worker::take_notes() {
    bool taken = false;
    while (auto message = mailbox_.poll(tag_notes)) {
        ByteReader in(message->bytes);
        Report note = Report::read(in);
        notes_[note.task].push_back({message->from, std::move(note)});
        taken = true;
    }
    return taken;
}

void Worker::carry_out(Order order) {
    switch (order.word) {
        case Word::Make:
            flush();  // it may wait for others
            crew_.make(order);
            break;
        case Word::Free:
            flush();
            crew_.free(order.team);
            break;
        case Word::Run:
            run(order);
            break;
        default:
            any_lost_ = order.any_lost;
            report({});
            flush();
            stopped_ = true;
    }
}

void Worker::run(const Order& order) {
    if (order.function != last_function_ || last_took_s_ > brief_s) {
        flush();
    }
    Report done = crew_.run(order);
    last_function_ = order.function;
    last_took_s_ = done.took_s;
    const std::vector<int> alone{comm_.rank()};
    const std::vector<int>& team = order.team == 0 ? alone : crew_.ranks_of(order.team);
    if (team.size() == 1) {
        report(std::move(done));
        return;
    }
    if (done.failure) {  // at once: the others may wait for this rank in the task's communicator
        report({.word = Word::Failed, .task = order.task, .result = {}, .failure = done.failure});
        flush();
    }
    if (comm_.rank() != team.front()) {
        done.result.clear();
        ByteWriter note;
        done.write(note);
        mailbox_.post(team.front(), tag_notes, note.take());
        return;
    }
    gather_notes(done, team);
    report(std::move(done));
    flush();
}

/// All ranks of the task's team have come back, apart from those that are lost.
void Worker::gather_notes(Report& done, const std::vector<int>& team) {
    const auto all_here = [&] {
        take_notes();
        take_orders();
        mailbox_.sent();
        std::set<int> missing(team.begin() + 1, team.end());
        std::erase_if(missing, [this](int rank) { return lost_.contains(rank); });
        for (const Note& note : notes_[done.task]) {
            missing.erase(note.from);
        }
        return missing.empty() || stopping_;
    };
    if (!all_here()) {
        flush();
        wait_until(all_here, "the ranks of a task's team did not come back");
    }
    const auto node = notes_.extract(done.task);
    for (const Note& note : node.mapped()) {
        done.took_s = std::max(done.took_s, note.report.took_s);
        if (note.report.failure && !done.failure) {
            done.failure = note.report.failure;
        }
    }
    if (done.failure) {
        done.result.clear();
    }
}

void Worker::report(Report report) {
    if (reports_.size() == 0) {
        first_report_ns_ = now_ns();
    }
    report.write(reports_);
    if (reports_.size() > reports_bytes_max || now_ns() - first_report_ns_ > report_within_ns) {
        flush();
    }
}

void Worker::flush() {
    mailbox_.sent();
    if (reports_.size() > 0) {
        mailbox_.post(lead_, tag_reports, reports_.take());
        reports_.clear();
    }
}

}  // namespace fluvial::flow
