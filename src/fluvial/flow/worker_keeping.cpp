// SPDX-License-Identifier: Apache-2.0
// Results that stay on the ranks that made them; kept.hpp has the events.
#include <algorithm>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/flow/needs_lead.hpp"
#include "fluvial/flow/worker.hpp"

namespace fluvial::flow {

/// In the middle of an order: orders that come meanwhile are taken, but not carried out.
class Worker::WaitsFor final : public NeedsLead {
  public:
    WaitsFor(Worker& worker, const std::function<bool()>& done)
        : NeedsLead(worker.members_), worker_(worker), done_(done) {}
    Seen look() override {
        const bool moved = worker_.take_orders();
        return done_() ? Seen::End : moved ? Seen::Movement : Seen::Nothing;
    }

  private:
    Worker& worker_;
    const std::function<bool()>& done_;
};

void Worker::wait_until(const std::function<bool()>& done) {
    WaitsFor waiting(*this, done);
    progress::BackOff back_off(members_.ranks_per_core());
    progress::wait(waiting, back_off);
}

void Worker::keep(Report& done, TaskId as) {
    if (done.failure || done.continues) {
        return;
    }
    kept_[as] = std::make_shared<const Bytes>(KeptMessage::of(as, done.result));
    done.result.clear();
    done.kept = true;
}

/// Returns when the result has left: the rank that waits for it has nothing else to do. Takes what
/// other ranks give meanwhile, because these may wait for that. A lead that has said stop takes
/// nothing more.
void Worker::give(const Order& order) {
    flush();
    const int to = order.ranks.front();
    messages_.post(to, order.tag, kept_.at(order.task));
    const auto in_vain = [&] {
        return to == lead_rank &&
               std::ranges::find(orders_, Word::Stop, &Order::word) != orders_.end();
    };
    wait_until([&] {
        take_inputs();
        return lost_.contains(to) || messages_.sent() || in_vain() || orphaned_;
    });
    if (in_vain() || orphaned_) {
        messages_.forget(to);
    }
}

bool Worker::take_inputs() {
    bool taken = false;
    while (auto message = messages_.poll(tag_inputs)) {
        const TaskId task = KeptMessage::task(message->bytes);
        brought_.emplace(task, std::make_shared<const Bytes>(std::move(message->bytes)));
        taken = true;
    }
    return taken;
}

/// Blocking until all inputs are here that others keep, also when one will not be: the others'
/// keepers wait until they have left. Why one will not be, where its keeper is lost.
std::optional<TaskFailure> Worker::bring_inputs(Order& order) {
    std::optional<TaskFailure> failure;
    std::map<TaskId, std::shared_ptr<const Bytes>> here;
    for (Order::Input& input : order.inputs) {
        if (input.keeper < 0) {
            continue;
        }
        std::shared_ptr<const Bytes>& kept = here[input.task];  // it has been given once
        if (!kept) {
            kept = input.keeper == comm_.rank() ? kept_.at(input.task) : brought(input);
        }
        if (!kept) {
            failure = TaskFailure{"PeerLost",
                                  describe_problem({"an input of a task stayed on a rank that is "
                                                    "lost",
                                                    text("rank ", input.keeper), "", ""}),
                                  input.keeper,
                                  {}};
        }
        input.kept = kept;
    }
    return failure;
}

/// Blocking; null when its keeper is lost.
std::shared_ptr<const Bytes> Worker::brought(const Order::Input& input) {
    flush();
    auto found = brought_.end();
    wait_until([&] {
        take_inputs();
        found = brought_.find(input.task);
        return found != brought_.end() || lost_.contains(input.keeper) || orphaned_;
    });
    return found != brought_.end() ? brought_.extract(found).mapped() : nullptr;
}

}  // namespace fluvial::flow
