// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/engine.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "fluvial/base/fork.hpp"
#include "fluvial/base/interrupt.hpp"
#include "fluvial/base/waiting.hpp"
#include "fluvial/mpi/environment.hpp"

namespace fluvial::progress {

/// Outlives the Served while a thread serves it.
struct Served::Entry {
    std::function<bool()> serve;
    bool calls_mpi = false;
    std::recursive_mutex mutex;  ///< of the thread that serves it, or is inside
    bool ended = false;          ///< under the mutex
    std::atomic<std::thread::id> thread;
    MadeHere made;
};

namespace {

using Entries = std::vector<std::shared_ptr<Served::Entry>>;

/// A wait in which something always moves serves others all the same, as often as this.
constexpr unsigned looks_between_services = 64;

/// All that is served in this process.
class Registry {
  public:
    void add(const std::shared_ptr<Served::Entry>& entry) {
        const std::lock_guard lock(mutex_);
        entries_.push_back(entry);
        ++changes_;
    }
    void remove(const Served::Entry* entry) {
        const std::lock_guard lock(mutex_);
        std::erase_if(entries_, [&](const auto& one) { return one.get() == entry; });
        ++changes_;
    }
    void give(Served::Entry& entry, std::thread::id thread) {
        const std::lock_guard lock(mutex_);
        entry.thread = thread;
        ++changes_;
    }
    unsigned changes() const { return changes_.load(std::memory_order_acquire); }
    Entries of(std::thread::id thread) {
        const std::lock_guard lock(mutex_);
        Entries found;
        std::ranges::copy_if(entries_, std::back_inserter(found),
                             [&](const auto& entry) { return entry->thread == thread; });
        return found;
    }

  private:
    std::atomic<unsigned> changes_{1};
    std::mutex mutex_;
    Entries entries_;
};

/// In a child by fork() another one, which is empty: the parent's may be locked there.
Registry& registry() {
    static std::atomic<Registry*> current{new Registry};
    static const ForkHook in_child([] { current = new Registry; });
    return *current;
}

/// What this thread serves, as of `changes` of `registry`.
struct Mine {
    const Registry* registry = nullptr;
    unsigned changes = 0;
    Entries entries;
};

thread_local int depth = 0;  ///< of what is served, of this thread
thread_local Lookout* lookouts = nullptr;
thread_local int setups = 0;
thread_local std::exception_ptr interrupted;  ///< inside of what is served

const Entries& own_entries() {
    thread_local Mine mine;
    Registry& all = registry();
    const unsigned changes = all.changes();
    if (mine.registry != &all || mine.changes != changes) {
        mine = {&all, changes, all.of(std::this_thread::get_id())};
    }
    return mine.entries;
}

bool may_serve(const Served::Entry& entry) {
    return !entry.calls_mpi ||
           (mpi::running() && mpi::thread_level() != mpi::ThreadLevel::Serialized);
}

bool serve(Served::Entry& entry) {
    const std::unique_lock lock(entry.mutex, std::try_to_lock);
    if (!lock || entry.ended || entry.thread != std::this_thread::get_id() || !may_serve(entry)) {
        return false;
    }
    ++depth;
    bool moved = true;
    bool ends_waits = false;
    // The verb that is served keeps the failure for its own next call.
    try {
        moved = entry.serve();
    } catch (const Interruption&) {
        interrupted = std::current_exception();
        ends_waits = true;
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
    --depth;
    if (ends_waits && depth > 0) {
        std::rethrow_exception(interrupted);  // serve_others() does so in the outermost wait
    }
    return moved;
}

/// For mpi/ and host/, which do not know this folder.
class Condition final : public Waiting {
  public:
    Condition(const std::function<bool()>& done, const Deadline& deadline, std::string_view what)
        : done_(done), deadline_(deadline), what_(what) {}
    Seen look() override {
        if (done_()) {
            return Seen::End;
        }
        if (deadline_.passed()) {
            throw_late(what_);
        }
        return Seen::Nothing;
    }

  private:
    const std::function<bool()>& done_;
    const Deadline& deadline_;
    std::string_view what_;
};

/// Of what is waited for elsewhere: time alone.
class Turn final : public Waiting {
  public:
    explicit Turn(double seconds) : end_(seconds) {}
    Seen look() override {
        const bool over = std::exchange(served_, true) && end_.passed();
        return over ? Seen::End : Seen::Nothing;
    }
    /// Not by the back-off, which would begin anew in each turn by keeping the core busy.
    void rest(BackOff& back_off, bool serving) override {
        constexpr std::int64_t nap_ns = 50'000;
        constexpr std::int64_t sleep_max_ns = 50'000'000;  // between looks for Ctrl-C
        if (end_.passed()) {  // a sleep of no time takes fifty microseconds
            return;
        }
        sleep_ns(std::min(serving ? nap_ns : sleep_max_ns, end_.left_ns()));
        if (!serving) {
            back_off.slept();
        }
    }

  private:
    Deadline end_;
    bool served_ = false;
};

void wait_until_served(const std::function<bool()>& done, const Deadline& deadline,
                       std::string_view what, Meanwhile meanwhile) {
    std::optional<Setup> setup;
    if (meanwhile == Meanwhile::Nothing) {
        setup.emplace();
    }
    Condition condition(done, deadline, what);
    BackOff back_off;
    wait(condition, back_off);
}

[[maybe_unused]] const bool taken_over = (set_wait_until(wait_until_served), true);

}  // namespace

Served::Served(std::function<bool()> serve, bool calls_mpi) : entry_(std::make_shared<Entry>()) {
    entry_->serve = std::move(serve);
    entry_->calls_mpi = calls_mpi;
    entry_->thread = std::this_thread::get_id();
    registry().add(entry_);
}

Served::~Served() {
    end();
}

void Served::end() {
    if (entry_->made.inherited()) {
        return;
    }
    registry().remove(entry_.get());
    const std::lock_guard lock(entry_->mutex);
    entry_->ended = true;
}

Served::Inside::Inside(Served& served) : entry_(served.entry_) {
    if (entry_->made.inherited()) {
        entry_.reset();
        return;
    }
    entry_->mutex.lock();
    if (entry_->thread != std::this_thread::get_id()) {
        registry().give(*entry_, std::this_thread::get_id());
    }
}

Served::Inside::~Inside() {
    if (entry_ && !entry_->made.inherited()) {
        entry_->mutex.unlock();
    }
}

bool serves_others(const Served* own) {
    if (setups > 0) {
        return false;
    }
    return std::ranges::any_of(own_entries(), [own](const auto& entry) {
        return (own == nullptr || entry != own->entry_) && may_serve(*entry);
    });
}

bool serve_others(const Served* own) {
    if (!serves_others(own)) {
        return false;
    }
    const Entries mine = own_entries();  // a copy: what is served may end, or begin another
    bool moved = false;
    for (const auto& entry : mine) {
        if (own == nullptr || entry != own->entry_) {
            moved = serve(*entry) || moved;
        }
    }
    if (interrupted && depth == 0) {
        std::rethrow_exception(std::exchange(interrupted, nullptr));
    }
    return moved;
}

Lookout::Lookout(std::function<void(double)> look) : look_(std::move(look)), outer_(lookouts) {
    lookouts = this;
}

Lookout::~Lookout() {
    lookouts = outer_;
}

Setup::Setup(std::function<void(double)> look) : Lookout(std::move(look)) {
    ++setups;
}

Setup::~Setup() {
    --setups;
}

std::function<void(double)> time_limit(double timeout_s, std::string what) {
    return [timeout_s, what = std::move(what)](double waited_s) {
        if (waited_s > timeout_s) {
            throw_late(what);
        }
    };
}

void look_out(double waited_s) {
    try {
        check_interrupt();
    } catch (...) {
        if (depth > 0) {
            interrupted = std::current_exception();
        }
        throw;
    }
    for (Lookout* one = lookouts; one != nullptr; one = one->outer_) {
        if (one->look_) {
            one->look_(waited_s);
        }
    }
}

void wait(Waiting& waiting, BackOff& back_off, const Served* own) {
    const std::int64_t begin_ns = now_ns();
    for (unsigned looks = 1;; ++looks) {
        const Waiting::Seen seen = waiting.look();
        if (seen == Waiting::Seen::End) {
            return;
        }
        if (seen == Waiting::Seen::Movement) {
            back_off.found_something();
            if (looks % looks_between_services == 0) {
                serve_others(own);
            }
        } else if (serve_others(own)) {
            back_off.found_something();
        } else {
            waiting.rest(back_off, serves_others(own));
        }
        if (back_off.time_to_look_around()) {
            waiting.look_around(static_cast<double>(now_ns() - begin_ns) * 1e-9);
        }
    }
}

void serve_for(double seconds) {
    Turn turn(seconds);
    BackOff back_off;
    wait(turn, back_off);
}

}  // namespace fluvial::progress
