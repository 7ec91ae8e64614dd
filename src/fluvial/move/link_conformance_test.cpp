// SPDX-License-Identifier: Apache-2.0
// All kinds of links, by one suite. Of a ring both ends are in one process, here of rank 0.
#include "fluvial/move/link_conformance.hpp"

#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/world_fixture.hpp"

using namespace fluvial;
using namespace fluvial::move;

namespace {

struct alignas(64) CacheLine {
    std::byte bytes[64];
};

class Ring final : public LinkUnderTest {
  public:
    explicit Ring(const LinkPlan& plan) : memory_(ring_memory(plan) / sizeof(CacheLine)) {
        const auto memory = std::as_writable_bytes(std::span(memory_));
        lay_ring(plan, memory);
        outlet = make_ring_outlet(plan, memory);
        inlet = make_ring_inlet(plan, memory, 0);
    }
    ~Ring() override {
        outlet.reset();
        inlet.reset();
    }
    void serve() override {
        if (outlet) {
            outlet->progress();
        }
    }
    void meet() override {}

  private:
    std::vector<CacheLine> memory_;
};

/// From rank 1 to rank 0.
class Messages final : public LinkUnderTest {
  public:
    explicit Messages(const LinkPlan& plan) {
        if (comm_.rank() == 0) {
            auto made = make_message_inlet(plan, comm_, {1});
            inlet_ = made.get();
            inlet = std::move(made);
        } else if (comm_.rank() == 1) {
            outlet = make_message_outlet(plan, comm_, control_, 0);
        }
    }
    /// Where a check has thrown, the other ranks may be elsewhere.
    ~Messages() override {
        outlet.reset();
        inlet.reset();
        if (std::uncaught_exceptions() > 0) {
            control_.abandon();
            comm_.abandon();
            return;
        }
        wait_until([this] { return control_.sent(); }, "MPI did not send the control messages");
        comm_.barrier();
        comm_.close();
    }
    void serve() override {
        while (const auto message = control_.poll()) {
            if (inlet) {
                inlet_->take(*message);
            }
        }
        if (inlet) {
            inlet->progress();
        }
        if (outlet) {
            outlet->progress();
        }
    }
    void meet() override { comm_.barrier(Deadline(2 * conformance::patience_s)); }

  private:
    mpi::Comm comm_ = mpi::Comm::duplicate(MPI_COMM_WORLD);
    progress::ControlMessages control_{comm_};
    MessageInlet* inlet_ = nullptr;
};

}  // namespace

TEST_CASE("a ring keeps what links promise") {
    if (world_rank() == 0) {
        check_link([](const LinkPlan& plan) { return std::make_unique<Ring>(plan); });
    }
}

TEST_CASE("a link by messages keeps what links promise") {
    check_link([](const LinkPlan& plan) { return std::make_unique<Messages>(plan); });
}

TEST_CASE("a link by messages between ranks of a host keeps what links promise") {
    check_link([](const LinkPlan& plan) {
        LinkPlan near = plan;
        near.same_host = true;
        return std::make_unique<Messages>(near);
    });
}
