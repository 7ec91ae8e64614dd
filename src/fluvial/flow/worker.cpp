// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/worker.hpp"

#include <algorithm>
#include <utility>

#include "fluvial/base/clock.hpp"
#include "fluvial/base/fork.hpp"
#include "fluvial/flow/needs_lead.hpp"
#include "fluvial/flow/worker_attending.hpp"

namespace fluvial::flow {

namespace {

/// Reports of brief tasks leave together, but with none that waits for longer than this does a next
/// task begin. If that lasts, they leave meanwhile (attend()).
constexpr std::int64_t report_within_ns = 100'000;
/// Reports wait only for a next task of the same function, when the last one was as brief as this.
constexpr double brief_s = 20e-6;
constexpr std::size_t reports_bytes_max = 16 * 1024;
/// So that the server has something to do while the rank runs the rest of what it was sent.
constexpr int reports_max = 32;

}  // namespace

class Worker::Waits final : public NeedsLead {
  public:
    explicit Waits(Worker& worker) : NeedsLead(worker.members_), worker_(worker) {}
    Seen look() override {
        const bool moved = worker_.work();
        if (worker_.stopped_ && worker_.messages_.sent()) {
            return Seen::End;
        }
        return moved ? Seen::Movement : Seen::Nothing;
    }

  private:
    Worker& worker_;
};

void Worker::serve() {
    const UniqueWhereMade<Attendant> attendant(new Attendant(*this));
    attendant_ = attendant.get();
    thread_ = ::pthread_self();
    Waits waits(*this);
    progress::BackOff back_off(members_.ranks_per_core());
    progress::wait(waits, back_off);
}

/// One turn; true when there was something to do.
bool Worker::work() {
    bool moved = take_orders();
    moved = (!gathering_.empty() && take_notes()) || moved;
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
    while (auto message = messages_.poll(tag_orders)) {
        ByteReader in(message->bytes);
        while (!in.done()) {
            Order order = Order::read(in);
            if (order.word == Word::Lost) {
                lose(order.ranks.front());
            } else if (order.word == Word::Cancel) {
                const bool waits = std::ranges::any_of(orders_, [&](const Order& other) {
                    return other.word == Word::Run && other.task == order.task;
                });
                if (waits || order.task == running_) {  // else it is over
                    cancelled_.insert(order.task);
                }
            } else {
                orders_.push_back(std::move(order));
            }
        }
        taken = true;
    }
    return taken;
}

/// Called by the task that runs, at any depth. While the attendant looks it hears of nothing: it
/// asks again. Also in a child by fork(), which has not the thread that may have the lock.
bool Worker::hears_of_cancel(TaskId task) {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) {
        return false;
    }
    take_orders();
    if (!cancelled_.contains(task)) {
        return false;
    }
    cancel_heard_by_ = task;
    signalled_ = false;
    return true;
}

void Worker::lose(int rank) {
    lost_.insert(rank);
    messages_.give_up_on(rank);
    if (rank == server_) {
        server_ = lead_rank;
        orphaned_ = true;
        std::erase_if(outboxes_, [rank](const auto& box) { return box.first.first == rank; });
    }
    end_what_is_whole();
}

bool Worker::take_notes() {
    bool taken = false;
    while (auto message = messages_.poll(tag_notes)) {
        for (ByteReader in(message->bytes); !in.done();) {
            note(Report::read(in), message->from);
        }
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
        case Word::Give:
            give(order);
            break;
        case Word::Drop:
            kept_.erase(order.task);
            break;
        case Word::Back:
            put(server_, tag_reports, {.word = Word::Back, .task = order.task, .result = {}});
            flush();
            break;
        default:
            any_lost_ = order.any_lost;
            put(server_, tag_reports, {});
            flush();
            stopped_ = true;
    }
}

void Worker::run(Order& order) {
    if (order.function != last_function_ || last_took_s_ > brief_s) {
        flush();
    }
    auto failure = bring_inputs(order);
    // Others of a team may be in it, and wait for this rank.
    if (order.team == 0 && cancelled_.contains(order.task) && !failure) {
        failure = cancelled_before_it_began();
    }
    Report done;
    if (failure) {
        done = {.word = Word::Done, .task = order.task, .result = {}, .failure = failure};
        done.began_ns = now_ns();
    } else {
        begin_task(order);
        done = crew_.run(
            order, [this, task = order.task] { return hears_of_cancel(task); }, &signalled_);
        end_task();
    }
    cancelled_.erase(order.task);
    last_function_ = order.function;
    last_took_s_ = done.took_s;
    if (order.team == 0) {
        if (order.keeps != Keeps::Nothing) {
            keep(done, order.keeps == Keeps::Parts ? part_of(order.task, 0) : order.task);
        }
        put(server_, tag_reports, done);
        return;
    }
    const std::vector<int>& team = crew_.ranks_of(order.team);
    if (done.failure) {  // at once: the others may wait for this rank in the task's communicator
        put(server_, tag_reports,
            {.word = Word::Failed, .task = order.task, .result = {}, .failure = done.failure});
        flush();
    }
    if (comm_.rank() != team.front()) {
        if (order.keeps == Keeps::Parts) {
            const auto place = std::ranges::find(team, comm_.rank()) - team.begin();
            keep(done, part_of(order.task, static_cast<std::size_t>(place)));
            done.kept = false;  // the first rank says so, when all have
        }
        done.result.clear();
        put(team.front(), tag_notes, done);
        return;
    }
    Gathering& gathering = gathering_[order.task];
    gathering.team = team;
    gathering.keeps = order.keeps;
    note(std::move(done), comm_.rank());
}

/// A rank of a task's team has come back. It may be faster than this rank, which is the first.
void Worker::note(Report note, int from) {
    const auto task = gathering_.try_emplace(note.task).first;
    Gathering& gathering = task->second;
    gathering.came.push_back(from);
    if (!gathering.done) {
        gathering.done = std::move(note);
    } else {
        Report& done = *gathering.done;
        done.took_s = std::max(done.took_s, note.took_s);
        if (from == comm_.rank()) {
            done.began_ns = note.began_ns;
            done.result = std::move(note.result);
            done.continues = note.continues;
        }
        if (note.failure && !done.failure) {
            done.failure = std::move(note.failure);
        }
    }
    end_if_whole(task);
}

/// All ranks of the task's team have come back, apart from lost ranks.
void Worker::end_if_whole(std::map<TaskId, Gathering>::iterator task) {
    Gathering& gathering = task->second;
    const bool whole =
        !gathering.team.empty() && std::ranges::all_of(gathering.team, [&](int rank) {
            return lost_.contains(rank) ||
                   std::ranges::find(gathering.came, rank) != gathering.came.end();
        });
    if (!whole) {
        return;
    }
    if (gathering.done->failure) {
        gathering.done->result.clear();
    } else if (gathering.keeps != Keeps::Nothing) {
        const bool parts = gathering.keeps == Keeps::Parts;
        keep(*gathering.done, parts ? part_of(gathering.done->task, 0) : gathering.done->task);
    }
    put(server_, tag_reports, *gathering.done);
    gathering_.erase(task);
}

void Worker::end_what_is_whole() {
    for (auto task = gathering_.begin(); task != gathering_.end();) {
        end_if_whole(task++);
    }
}

void Worker::put(int to, int tag, const Report& report) {
    Outbox& box = outboxes_[{to, tag}];
    if (box.count++ == 0) {
        box.first_ns = now_ns();
    }
    report.write(box.bytes);
    if (box.count >= reports_max || box.bytes.size() > reports_bytes_max ||
        now_ns() - box.first_ns > report_within_ns) {
        flush();
    }
}

void Worker::flush() {
    messages_.sent();
    for (auto& [address, box] : outboxes_) {
        if (box.count > 0) {
            messages_.post(address.first, address.second, box.bytes.take());
            box = {};
        }
    }
}

}  // namespace fluvial::flow
