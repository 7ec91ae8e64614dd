// SPDX-License-Identifier: Apache-2.0
/// Goes when the message link comes: until then channels work on one host alone, and say so.
#include "fluvial/base/error.hpp"
#include "fluvial/stream/link.hpp"

namespace fluvial::stream {

namespace {

[[noreturn]] void refuse() {
    throw InvalidArgument(Problem{"streams by messages do not work yet", "", "",
                                  "Use ranks of one host, with shared_memory"});
}

}  // namespace

std::unique_ptr<Outlet> make_message_outlet(const LinkPlan&, const mpi::Comm&, Mailbox&, int) {
    refuse();
}

std::unique_ptr<MessageInlet> make_message_inlet(const LinkPlan&, const mpi::Comm&, Mailbox&,
                                                 std::vector<int>) {
    refuse();
}

void take_credit(Outlet&, const Mail&) {}

}  // namespace fluvial::stream
