// SPDX-License-Identifier: Apache-2.0
/// What a step costs between two hosts from C++: by Fluvial, or by a bare TCP connection.
///
///     hosts FOLDER WRITER_CORE READER_CORE WRITER_HOST READER_HOST WRITER_ADDRESS
///           WHO WHAT BYTES SECONDS
///
/// The hosts are files of network namespaces; WHO is "socket", "socket:queue" (from as many arrays
/// in turn as the queue of a stream has, and the one that is filled), "tcp" or
/// "libfabric:PROVIDER"; WHAT is "stream" (as fast as it goes; the writer fills each step where it
/// is staged, the reader sums it), "put" (the same with a copy of the filled array), "ping" (one at
/// a time; from before the step is begun to the array in the reader's hand, on cores that are kept
/// from going to sleep, which costs more than the rest on some machines) or "datasets" (BYTES / 8
/// datasets of 8 B a step). One line of JSON for each figure on standard output.
#include <csignal>

#include <fcntl.h>
#include <poll.h>

#include "with_fluvial.hpp"
#include "with_sockets.hpp"

namespace {

using namespace bench;

constexpr int queue_steps = 4;
constexpr int pings_warm = 100;

struct Setting {
    std::string folder;
    Cores cores;
    std::string hosts[2];
    std::string address;
    std::string who;
    std::size_t bytes;
    double seconds;
};

/// From here on this process is on that host, whose name is another, too.
void enter(const std::string& host) {
    const int file = ::open(host.c_str(), O_RDONLY | O_CLOEXEC);
    const std::string name = host.substr(host.rfind('/') + 1);
    if (file < 0 || ::setns(file, CLONE_NEWNET) != 0 || ::unshare(CLONE_NEWUTS) != 0 ||
        ::sethostname(name.c_str(), name.size()) != 0) {
        fail("cannot enter " + host + ": " + std::strerror(errno));
    }
    ::close(file);
}

/// Tells the other process, which sleeps until it is told.
class Signal {
  public:
    Signal() {
        if (::pipe(ends_) != 0) {
            fail("no pipe");
        }
    }
    void give() const {
        const char one = 1;
        if (::write(ends_[1], &one, 1) != 1) {
            fail("the other side is gone");
        }
    }
    void await() const {
        char one = 0;
        pollfd end{ends_[0], POLLIN, 0};
        constexpr int limit_ms = 20'000;
        if (::poll(&end, 1, limit_ms) != 1 || ::read(ends_[0], &one, 1) != 1) {
            fail("the other side does not answer");
        }
    }

  private:
    int ends_[2];
};

/// Keeps a core from going to sleep: a process that runs when no other wants to.
class Awake {
  public:
    explicit Awake(int core) : process_(::fork()) {
        if (process_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            pin(core);
            const sched_param none{};
            if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0) {
                fail("a core cannot be kept awake");
            }
            while (true) {
                pause_core();
            }
        }
    }
    ~Awake() {
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
    }
    Awake(const Awake&) = delete;
    Awake& operator=(const Awake&) = delete;

  private:
    pid_t process_;
};

std::vector<std::string> dataset_names(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) {
        names.push_back("meshes/field" + std::to_string(i) + "/x");
    }
    return names;
}

/// Fluvial's stage with the moves of Sockets; its steps have one dataset or several.
class Stage : public FluvialStream {
  public:
    Stage(const Setting& setting, bool span, int datasets = 1)
        : FluvialStream(setting.folder, setting.bytes, queue_steps, dataset_names(datasets)),
          span_(span),
          own_(span ? 0 : setting.bytes / sizeof(double)) {
        writing_.network = setting.address;
        reading_.transport = setting.who;
    }
    template <class Fill>
    void write(Fill fill) {
        if (span_) {
            put_in_place(fill);
        } else {
            fill(own_.data());
            put(own_.data());
        }
    }

  private:
    bool span_;
    std::vector<double> own_;
};

/// Whether a step is the one that was written; its first element says when it was.
void check(const double* values, std::size_t count, double each) {
    const double rest = sum_of(values, count) - values[0];
    if (rest != each * static_cast<double>(count - 1)) {
        fail("a step came as something else");
    }
}

template <class Exchange>
void ping(const Setting& setting, Exchange& exchange, Notes& notes) {
    const std::size_t count = setting.bytes / sizeof(double);
    const int steps =
        pings_warm + std::clamp(static_cast<int>(setting.seconds * 5'000), 50, latencies_max);
    const Signal seen;
    const Awake awake[] = {Awake(setting.cores.writer), Awake(setting.cores.reader)};
    run_both(
        setting.cores,
        [&] {
            enter(setting.hosts[0]);
            exchange.open_writer();
            for (int i = 0; i < steps; ++i) {
                const std::int64_t begin_ns = now_ns();
                exchange.write([&](double* to) {
                    std::fill(to, to + count, i % 256);
                    to[0] = static_cast<double>(begin_ns);
                });
                seen.await();
            }
            exchange.close_writer();
        },
        [&] {
            enter(setting.hosts[1]);
            exchange.open_reader();
            for (int i = 0; i < steps; ++i) {
                const double* values = exchange.next();
                const std::int64_t arrived_ns = now_ns();
                if (i >= pings_warm) {
                    notes.latency_ns[notes.latencies++] =
                        arrived_ns - static_cast<std::int64_t>(values[0]);
                }
                check(values, count, i % 256);
                seen.give();
            }
            exchange.close_reader();
        });
    const Percentiles found = percentiles_of(notes);
    print(setting.who.c_str(), "latency", setting.bytes, found.median_us);
    print(setting.who.c_str(), "latency p99", setting.bytes, found.p99_us);
}

/// The reader is timed from the first step after some that warm up, to the last.
template <class Exchange>
void stream(const Setting& setting, Exchange& exchange, Notes& notes, const char* what) {
    const std::size_t count = setting.bytes / sizeof(double);
    const int warm = setting.bytes < (std::size_t{1} << 20) ? 200 : 2 * queue_steps;
    run_both(
        setting.cores,
        [&] {
            enter(setting.hosts[0]);
            exchange.open_writer();
            std::int64_t end_ns = 0;
            bool last = false;
            for (int i = 0; !last; ++i) {
                if (i == warm) {
                    end_ns = now_ns() + static_cast<std::int64_t>(setting.seconds * 1e9);
                }
                last = i > warm + queue_steps && now_ns() > end_ns;
                exchange.write([&](double* to) {
                    std::fill(to, to + count, i % 256);
                    to[0] = last ? -1 : 1;
                });
            }
            exchange.close_writer();
        },
        [&] {
            enter(setting.hosts[1]);
            exchange.open_reader();
            bool last = false;
            for (int i = 0; !last; ++i) {
                const double* values = exchange.next();
                check(values, count, i % 256);
                last = values[0] < 0;
                if (i == warm) {
                    notes.begin_ns = now_ns();
                }
                notes.latencies = i - warm;
            }
            notes.end_ns = now_ns();
            exchange.close_reader();
        });
    const double seconds = static_cast<double>(notes.end_ns - notes.begin_ns) * 1e-9;
    print(setting.who.c_str(), what, setting.bytes, notes.latencies / seconds);
}

void run(const Setting& setting, const std::string& what) {
    Notes& notes = *shared<Notes>();
    if (setting.who.starts_with("socket")) {
        Sockets sockets(setting.address, setting.bytes,
                        setting.who == "socket:queue" ? queue_steps + 1 : 1);
        if (what == "ping") {
            ping(setting, sockets, notes);
        } else {
            stream(setting, sockets, notes, what.c_str());
        }
    } else if (what == "ping") {
        Stage stage(setting, false);
        ping(setting, stage, notes);
    } else {
        const int datasets =
            what == "datasets" ? static_cast<int>(setting.bytes / sizeof(double)) : 1;
        Stage stage(setting, what == "stream", datasets);
        stream(setting, stage, notes, what.c_str());
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 11) {
        fail(
            "usage: hosts FOLDER WRITER_CORE READER_CORE WRITER_HOST READER_HOST WRITER_ADDRESS "
            "WHO WHAT BYTES SECONDS");
    }
    const Setting setting{
        argv[1], {std::atoi(argv[2]), std::atoi(argv[3])},      {argv[4], argv[5]}, argv[6],
        argv[7], static_cast<std::size_t>(std::atoll(argv[9])), std::atof(argv[10])};
    run(setting, argv[8]);
    return 0;
}
