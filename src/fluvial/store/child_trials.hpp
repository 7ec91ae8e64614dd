// SPDX-License-Identifier: Apache-2.0
/// For tests: things that may crash, tried one after the other in child processes (Linux). A child
/// that dies is told apart by the code in which it died, and the next one goes on behind that
/// trial.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fluvial/base/error.hpp"

namespace fluvial::store {

struct TrialEnd {
    enum class Kind : std::uint8_t { Done, Refused, Thrown, Signal, TimedOut };
    Kind kind = Kind::Done;
    int signal = 0;
    /// Of a Signal or TimedOut: file and function of the innermost frames outside of libc. Of what
    /// is Thrown: its text.
    std::string where;

    /// Whether the innermost frame is in a library of this name; frames of a sanitizer, which
    /// stands in for malloc and free, do not count.
    bool in(std::string_view library) const {
        std::string_view frames = where;
        while (frames.substr(0, frames.find(' ')).find("libasan") != std::string_view::npos) {
            const std::size_t end = frames.find("; ");
            frames.remove_prefix(end == std::string_view::npos ? frames.size() : end + 2);
        }
        return frames.substr(0, frames.find(' ')).find(library) != std::string_view::npos;
    }
};

inline std::string to_string(const TrialEnd& end) {
    static constexpr const char* names[] = {"done", "refused", "thrown", "signal", "timed out"};
    return text(names[static_cast<int>(end.kind)], " ", end.signal, " ", end.where);
}

class ChildTrials {
  public:
    /// Done when it returns, Refused when it throws an Error.
    using Trial = std::function<void(std::size_t number)>;

    /// A trial may take `cpu_s` seconds of its processor and a process `memory_bytes` of addresses.
    ChildTrials(double cpu_s, std::size_t memory_bytes)
        : cpu_s_(cpu_s), memory_bytes_(memory_bytes) {}

    std::vector<TrialEnd> run(std::size_t count, const Trial& trial) const {
        std::vector<TrialEnd> ends;
        while (ends.size() < count) {
            const std::size_t before = ends.size();
            int ends_of_pipe[2];
            if (::pipe(ends_of_pipe) != 0) {
                throw_errno("cannot make a pipe", errno);
            }
            const pid_t child = ::fork();
            if (child < 0) {
                throw_errno("cannot make a process", errno);
            }
            if (child == 0) {
                report_ = ends_of_pipe[1];
                run_here(before, count, trial);
            }
            ::close(ends_of_pipe[1]);
            for (Report report; ::read(ends_of_pipe[0], &report, sizeof report) == sizeof report;) {
                ends.push_back({report.kind, report.signal, report.where});
            }
            ::close(ends_of_pipe[0]);
            int status = 0;
            ::waitpid(child, &status, 0);
            if (ends.size() == before) {
                throw Error("a child process ended without a word, status " +
                            std::to_string(status));
            }
        }
        return ends;
    }

  private:
    /// Short enough to be written at once.
    struct Report {
        TrialEnd::Kind kind = TrialEnd::Kind::Done;
        int signal = 0;
        char where[800] = "";
    };

    static void send(TrialEnd::Kind kind, int signal, const char* where) {
        Report report{kind, signal, ""};
        std::strncpy(report.where, where, sizeof report.where - 1);
        if (::write(report_, &report, sizeof report) != sizeof report) {
            ::_exit(1);
        }
    }

    [[noreturn]] void run_here(std::size_t first, std::size_t count, const Trial& trial) const {
        void* warm[1];
        ::backtrace(warm, 1);  // loads what it needs, outside of a handler
        static char stack[1 << 16];
        const stack_t other{stack, 0, sizeof stack};
        ::sigaltstack(&other, nullptr);
        struct sigaction action{};
        action.sa_handler = &died;
        action.sa_flags = SA_ONSTACK;
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) {
            ::sigaction(signal, &action, nullptr);
        }
#ifndef __SANITIZE_ADDRESS__
        const rlimit limit{memory_bytes_, memory_bytes_};
        ::setrlimit(RLIMIT_AS, &limit);
#endif
        const auto seconds = static_cast<time_t>(cpu_s_);
        const itimerval timer{
            {0, 0}, {seconds, static_cast<suseconds_t>((cpu_s_ - double(seconds)) * 1e6)}};
        for (std::size_t i = first; i < count; ++i) {
            ::setitimer(ITIMER_PROF, &timer, nullptr);
            try {
                trial(i);
                send(TrialEnd::Kind::Done, 0, "");
            } catch (const Error& error) {
                send(TrialEnd::Kind::Refused, 0, error.what());
            } catch (const std::exception& error) {
                send(TrialEnd::Kind::Thrown, 0, error.what());
            }
        }
        ::_exit(0);
    }

    /// Strictly, a handler may not do this; the process is lost anyway.
    static void died(int signal) {
        void* frames[64];
        const int count = ::backtrace(frames, 64);
        bool interrupted = false;  // before that: frames of this handler
        char where[sizeof Report::where] = "";
        std::size_t length = 0;
        for (int i = 0; i < count && length + 1 < sizeof where; ++i) {
            Dl_info info;
            const bool known = ::dladdr(frames[i], &info) != 0 && info.dli_fname != nullptr;
            const bool libc = known && (std::strstr(info.dli_fname, "/libc.") != nullptr ||
                                        std::strstr(info.dli_fname, "/libc-") != nullptr);
            interrupted = interrupted || libc;
            if (interrupted && known && !libc) {
                const int written = std::snprintf(
                    where + length, sizeof where - length, "%s %s+%#tx; ", info.dli_fname,
                    info.dli_sname == nullptr ? "" : info.dli_sname,
                    static_cast<char*>(frames[i]) - static_cast<char*>(info.dli_fbase));
                length += static_cast<std::size_t>(std::max(written, 0));
            }
        }
        send(signal == SIGPROF ? TrialEnd::Kind::TimedOut : TrialEnd::Kind::Signal, signal, where);
        ::_exit(1);
    }

    static inline int report_ = -1;
    double cpu_s_;
    std::size_t memory_bytes_;
};

}  // namespace fluvial::store
