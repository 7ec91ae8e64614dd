// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/silence.hpp"

#include <csignal>

#include "fluvial/base/error.hpp"
#include "fluvial/host/child_process_fixture.hpp"

using namespace fluvial;
using namespace fluvial::progress;

TEST_CASE("what is said of a silent process is what can be seen of it") {
    const host::Process self = host::own_process();
    const std::string running = silent_here({self, 3, 2, "the pool"});
    CHECK(running.find("takes no part, though no signal stopped it: got no heartbeat for 3 s") !=
          std::string::npos);
    CHECK(running.find("kill -CONT") == std::string::npos);
    const pid_t child = host::spawn([&] {
        while (!host::is_stopped(self)) {
            ::usleep(1000);
        }
        const std::string stopped = silent_here({self, 3, 2, ""});
        ::kill(static_cast<pid_t>(self.id), SIGCONT);
        ::_exit(stopped.find(text("kill -CONT ", self.id)) == std::string::npos ? 1 : 0);
    });
    ::raise(SIGSTOP);
    CHECK(host::status_of(child) == 0);
}
