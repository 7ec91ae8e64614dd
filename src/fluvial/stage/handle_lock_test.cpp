// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/handle_lock.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/progress/engine.hpp"

using namespace fluvial;
using stage::HandleLock;

namespace {

constexpr std::chrono::seconds patience(10);

/// False when it has not come in time.
bool comes(const std::atomic<bool>& flag) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!flag && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return flag;
}

void close(HandleLock& handle) {
    HandleLock::Closing closing(handle, [] {}, [] {});
    closing.done();
}

/// Another thread in a call, which it ends once `over` is true.
class OtherCall {
  public:
    OtherCall(HandleLock& handle, const std::atomic<bool>& over)
        : thread_([&handle, &over, this] {
              HandleLock::Call call(handle, "a test");
              call.leave();
              begun_ = true;
              in_time_ = comes(over);
              call.regain();
          }) {
        comes(begun_);
    }
    /// Whether it ended because it was over.
    bool join() {
        thread_.join();
        return in_time_;
    }

  private:
    std::atomic<bool> begun_ = false;
    bool in_time_ = false;
    std::thread thread_;
};

}  // namespace

TEST_CASE("a thread that closes serves what a call of another thread needs of it") {
    HandleLock handle;
    std::atomic<bool> served = false;
    const progress::Served serving([&] { return !served.exchange(true); }, false);
    OtherCall other(handle, served);
    close(handle);
    CHECK(other.join());
    CHECK_FALSE(handle.is_open());
}

TEST_CASE("a call that waits for others serves what these need of it") {
    HandleLock handle;
    std::atomic<bool> served = false;
    const progress::Served serving([&] { return !served.exchange(true); }, false);
    OtherCall other(handle, served);
    {
        HandleLock::Call call(handle, "a test");
        call.wait_for([&] { return !handle.others_inside(); });
    }
    CHECK(other.join());
}

TEST_CASE("what is served while a thread closes cannot close, or begin a call") {
    HandleLock handle;
    std::atomic<bool> served = false;
    std::string closing, call;
    const auto said = [](const std::exception& error) { return std::string(error.what()); };
    const progress::Served serving(
        [&] {
            try {
                close(handle);
            } catch (const InvalidArgument& error) {
                closing = said(error);
            }
            try {
                const HandleLock::Call begun(handle, "a call");
            } catch (const InvalidArgument& error) {
                call = said(error);
            }
            return !served.exchange(true);
        },
        false);
    OtherCall other(handle, served);
    close(handle);
    CHECK(other.join());
    CHECK(closing.find("this thread is inside of one of its calls") != std::string::npos);
    CHECK(call.find("the stream is closed") != std::string::npos);
}

TEST_CASE("what ends the wait of a thread that closes leaves the handle open") {
    HandleLock handle;
    std::atomic<bool> over = false;
    OtherCall other(handle, over);
    {
        const progress::Lookout ends([](double) { throw std::runtime_error("Ctrl-C"); });
        CHECK_THROWS_WITH(close(handle), "Ctrl-C");
    }
    CHECK(handle.is_open());
    over = true;
    CHECK(other.join());
    close(handle);
    CHECK_FALSE(handle.is_open());
}
