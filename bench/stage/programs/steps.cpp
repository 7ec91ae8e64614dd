// SPDX-License-Identifier: Apache-2.0
/// What a step costs from C++, beside a bare exchange of the same bytes: one way's latency, steps a
/// second, puts against memcpy, and datasets of a step.
///
///     steps FOLDER WRITER_CORE READER_CORE SECONDS CASE[,CASE...]
///
/// Each case takes SECONDS for each contestant. Latency: from before the step is begun to the array
/// in the reader's hand, one step at a time, the writer computing for 20 us in between (a reader
/// that waits is still polling) or for 400 us (it sleeps on a futex). Steps a second: as fast as a
/// queue of four steps lets them, each summed by the reader, which is timed from the first to the
/// last. Lines of JSON on standard output.
#include <memory>

#include "bare.hpp"
#include "with_fluvial.hpp"

namespace {

using namespace bench;

constexpr int queue_steps = 4;
constexpr int warm_steps = 200;
constexpr std::int64_t brief_ns = 20'000, long_ns = 400'000;

struct Setting {
    std::string folder;
    Cores cores;
    double seconds;
};

/// Latencies of `steps` steps of `values`, with `rest_ns` between them.
template <class Exchange>
void pings(const Setting& setting, Exchange& exchange, std::size_t bytes, std::int64_t rest_ns,
           Notes& notes) {
    const auto round_ns = static_cast<double>(rest_ns + 10'000);
    const int steps = warm_steps + std::clamp(static_cast<int>(setting.seconds * 1e9 / round_ns),
                                              200, latencies_max);
    notes.acknowledged = 0;
    notes.latencies = 0;
    run_both(
        setting.cores,
        [&] {
            std::vector<double> values(bytes / sizeof(double), 1.0);
            exchange.open_writer();
            for (int i = 0; i < steps; ++i) {
                compute_for(rest_ns);
                values[0] = static_cast<double>(now_ns());
                exchange.write(values.data());
                while (notes.acknowledged.load(std::memory_order_acquire) !=
                       static_cast<std::uint64_t>(i) + 1) {
                    pause_core();
                }
            }
            exchange.close_writer();
        },
        [&] {
            exchange.open_reader();
            for (int i = 0; i < steps; ++i) {
                const double sent = *exchange.next();
                const std::int64_t arrived = now_ns();
                if (i >= warm_steps) {
                    notes.latency_ns[notes.latencies++] = arrived - static_cast<std::int64_t>(sent);
                }
                notes.acknowledged.store(static_cast<std::uint64_t>(i) + 1,
                                         std::memory_order_release);
            }
            exchange.close_reader();
        });
}

/// As many steps as SECONDS allow, as fast as they go. `written_ns`: by the writer, of each.
template <class Exchange>
void streaming(const Setting& setting, Exchange& exchange, std::size_t bytes, Notes& notes) {
    notes.end_ns = notes.begin_ns = 0;
    notes.latencies = 0;  // here: steps
    run_both(
        setting.cores,
        [&] {
            std::vector<double> values(bytes / sizeof(double), 1.0);
            exchange.open_writer();
            std::int64_t end_ns = 0;
            for (int i = 0;; ++i) {
                values[0] = 1.0;
                if (i == warm_steps) {
                    end_ns = now_ns() + static_cast<std::int64_t>(setting.seconds * 1e9);
                }
                if (i > warm_steps && now_ns() > end_ns) {
                    values[0] = -1.0;  // the last
                }
                exchange.write(values.data());
                if (values[0] < 0) {
                    break;
                }
            }
            exchange.close_writer();
        },
        [&] {
            exchange.open_reader();
            double total = 0;
            for (int i = 0;; ++i) {
                const double* values = exchange.next();
                total += sum_of(values, bytes / sizeof(double));
                if (i == warm_steps) {
                    notes.begin_ns = now_ns();
                }
                if (values[0] < 0) {
                    notes.end_ns = now_ns();
                    notes.latencies = i - warm_steps;
                    break;
                }
            }
            notes.sum = total;
            exchange.close_reader();
        });
}

template <class Exchange>
void latency(const Setting& setting, Exchange& exchange, const char* who, bool sleeps,
             std::size_t bytes, Notes& notes) {
    pings(setting, exchange, bytes, sleeps ? long_ns : brief_ns, notes);
    const Percentiles found = percentiles_of(notes);
    print(who, sleeps ? "latency asleep" : "latency polling", bytes, found.median_us);
    print(who, sleeps ? "latency p99 asleep" : "latency p99 polling", bytes, found.p99_us);
}

void latencies(const Setting& setting, Notes& notes, bool sleeps, std::size_t bytes) {
    {
        Bare bare(bytes, queue_steps, sleeps);
        latency(setting, bare, "bare", sleeps, bytes, notes);
    }
    Fluvial fluvial(setting.folder, bytes, queue_steps, false);
    latency(setting, fluvial, "fluvial", sleeps, bytes, notes);
}

template <class Exchange>
void rate(const Setting& setting, Exchange& exchange, const char* who, std::size_t bytes,
          Notes& notes) {
    streaming(setting, exchange, bytes, notes);
    const double seconds = static_cast<double>(notes.end_ns - notes.begin_ns) * 1e-9;
    print(who, "rate", bytes, notes.latencies / seconds);
}

void rates(const Setting& setting, Notes& notes, std::size_t bytes) {
    {
        Bare bare(bytes, queue_steps, false);
        rate(setting, bare, "bare", bytes, notes);
    }
    for (const bool span : {false, true}) {
        Fluvial fluvial(setting.folder, bytes, queue_steps, span);
        rate(setting, fluvial, span ? "fluvial span" : "fluvial", bytes, notes);
    }
}

/// The time of a put alone, against a memcpy into as much memory as the queue has; the reader takes
/// every step and looks at a word of each page, so that what is written over has been elsewhere.
void puts(const Setting& setting, Notes& notes, std::size_t bytes) {
    const std::size_t count = bytes / sizeof(double);
    const auto steps = static_cast<int>(
        std::clamp(setting.seconds * 4e9 / static_cast<double>(bytes), 12.0, 4000.0));
    std::vector<double> values(count, 1.0);
    auto* ring = shared<std::byte>(bytes * queue_steps);
    std::int64_t copied_ns = 0;
    for (int i = 0; i < steps + queue_steps; ++i) {
        const std::int64_t begin = now_ns();
        std::memcpy(ring + bytes * static_cast<std::size_t>(i % queue_steps), values.data(), bytes);
        copied_ns += i < queue_steps ? 0 : now_ns() - begin;
    }
    ::munmap(ring, bytes * queue_steps);
    print("memcpy", "put", bytes,
          static_cast<double>(bytes) * steps / static_cast<double>(copied_ns));
    Fluvial exchange(setting.folder, bytes, queue_steps, false);
    notes.acknowledged = 0;
    run_both(
        setting.cores,
        [&] {
            exchange.open_writer();
            std::int64_t put_ns = 0;
            for (int i = 0; i < steps + 2 * queue_steps; ++i) {
                while (notes.acknowledged.load(std::memory_order_acquire) + 1 <
                       static_cast<std::uint64_t>(i)) {
                    pause_core();
                }
                const std::int64_t begin = now_ns();
                exchange.write(values.data());
                put_ns += i < 2 * queue_steps ? 0 : now_ns() - begin;
            }
            notes.put_ns = put_ns;
            exchange.close_writer();
        },
        [&] {
            exchange.open_reader();
            for (int i = 0; i < steps + 2 * queue_steps; ++i) {
                const double* seen = exchange.next();
                for (std::size_t at = 0; at < count; at += 512) {
                    notes.sum += seen[at];
                }
                notes.acknowledged.store(static_cast<std::uint64_t>(i) + 1,
                                         std::memory_order_release);
            }
            exchange.close_reader();
        });
    print("fluvial", "put", bytes,
          static_cast<double>(bytes) * steps / static_cast<double>(notes.put_ns));
}

/// Steps of `count` datasets of 8 B: what each costs to put, and to find and view.
void datasets(const Setting& setting, Notes& notes, std::size_t count) {
    const auto steps = static_cast<int>(
        std::clamp(setting.seconds * 5e5 / static_cast<double>(count), 20.0, 20'000.0));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) {
        names.push_back("meshes/field" + std::to_string(i) + "/x");
    }
    const std::string name = "bench-datasets-" + std::to_string(::getpid()) + "-" +
                             std::to_string(count) + "-" + std::to_string(now_ns());
    fluvial::stage::WriterOptions writing;
    writing.directory = setting.folder;
    writing.network = "off";
    fluvial::stage::ReaderOptions reading;
    reading.directory = setting.folder;
    run_both(
        setting.cores,
        [&] {
            fluvial::stage::Writer writer(name, fluvial::mpi::Comm(), writing);
            std::int64_t put_ns = 0;
            const double value = 1.5;
            for (int i = 0; i < steps + 4; ++i) {
                auto step = writer.begin_step();
                const std::int64_t begin = now_ns();
                for (const std::string& one : names) {
                    step.put(one, fluvial::ArrayView(&value, fluvial::DType::Float64, {1}), {0},
                             {1});
                }
                put_ns += i < 4 ? 0 : now_ns() - begin;
                step.end();
            }
            notes.put_ns = put_ns;
            writer.close();
        },
        [&] {
            fluvial::stage::Reader reader(name, fluvial::mpi::Comm(), reading);
            std::int64_t find_ns = 0;
            int seen = 0;
            std::int64_t first_ns = 0;
            while (auto step = reader.next()) {
                const std::int64_t begin = now_ns();
                for (const std::string& one : names) {
                    const auto data = step->dataset(one).read();
                    notes.sum += *reinterpret_cast<const double*>(data.view.data);
                }
                find_ns += seen < 4 ? 0 : now_ns() - begin;
                ++seen;
                first_ns = seen == 4 ? now_ns() : first_ns;
            }
            notes.find_ns = find_ns;
            notes.begin_ns = first_ns;
            notes.end_ns = now_ns();
            reader.close();
        });
    const double each = static_cast<double>(count) * steps;
    print("fluvial", "put of a dataset", count, static_cast<double>(notes.put_ns) * 1e-3 / each);
    print("fluvial", "find of a dataset", count, static_cast<double>(notes.find_ns) * 1e-3 / each);
    print("fluvial", "step of datasets", count,
          static_cast<double>(notes.end_ns - notes.begin_ns) * 1e-3 / steps);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 6) {
        fail("usage: steps FOLDER WRITER_CORE READER_CORE SECONDS CASES");
    }
    const Setting setting{argv[1], {std::atoi(argv[2]), std::atoi(argv[3])}, std::atof(argv[4])};
    const std::string cases = std::string(",") + argv[5] + ",";
    const auto wanted = [&](const char* name) {
        return cases.find(std::string(",") + name + ",") != std::string::npos;
    };
    Notes& notes = *shared<Notes>();
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{8} << 10, std::size_t{64} << 10}) {
        if (wanted("polling")) {
            latencies(setting, notes, false, bytes);
        }
        if (wanted("asleep")) {
            latencies(setting, notes, true, bytes);
        }
    }
    if (wanted("rate")) {
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{8} << 10}) {
            rates(setting, notes, bytes);
        }
    }
    if (wanted("put")) {
        for (const std::size_t bytes :
             {std::size_t{1} << 20, std::size_t{16} << 20, std::size_t{128} << 20}) {
            puts(setting, notes, bytes);
        }
    }
    if (wanted("datasets")) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{10'000}}) {
            datasets(setting, notes, count);
        }
    }
    return 0;
}
