// SPDX-License-Identifier: Apache-2.0
/// The parallel STREAM benchmark of "A Data Streaming Model in MPI", section 4: contestants send
/// elements of one size, in turns, in one job. One line of JSON a run:
///
///   contestants=seed,…   in this order, rotated by one from repetition to repetition
///   doubles=N            in an element
///   consumers=N          the first ranks; the others produce
///   kernel=scale flops=N what is done with each element, and further operations on each
///   seconds=S            how long a run should take: the number of elements is found by trying
///   elements=N           of each producer, instead of seconds
///   changes=1            the producer makes each element anew before it gives it
///   repeats=N cores=0,1  ranks are bound to these cores in turn; anywhere by default
///   apart=1              consumers to the first of these cores, producers to the others
///   away=S               the consumer computes for S seconds when the first element has come
///   calls_mpi=1          and looks for a message on another communicator all that time
///   yields=1             waiting ranks give their core away: more ranks than cores
///   kernel_gbps=X        under SMPI: the rate at which the kernel takes elements
#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

#include <unistd.h>

#include "contestants.hpp"
#include "probe.hpp"
#include "words.hpp"

namespace {

struct Result {
    std::int64_t elements = 0;  ///< of all producers
    double seconds = 0;
    double grown_bytes = 0;  ///< peak above the time before it was prepared, of the consumer that
                             ///< grew most
};

double over_ranks(double value, MPI_Op op) {
    double all = 0;
    MPI_Allreduce(&value, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
    return all;
}

class Contest {
  public:
    Contest(const Words& words, const Roles& roles)
        : roles_(roles),
          target_s_(words.real("seconds", 0.03)),
          fixed_(words.number("elements", 0)),
          source_(static_cast<std::size_t>(words.number("doubles", 1)), roles.producer(),
                  words.number("changes", 0) != 0) {
        plan_.doubles = static_cast<std::size_t>(words.number("doubles", 1));
        plan_.kernel = kernel_of(words.text("kernel", "scale"));
        plan_.flops = static_cast<int>(words.number("flops", 0));
        plan_.away_s = words.real("away", 0);
        plan_.calls_mpi = words.number("calls_mpi", 0) != 0;
        if (const double rate = words.real("kernel_gbps", 0); rate > 0) {
            plan_.second_a_byte = 1e-9 / rate;
        }
        for (const std::string& name : words.list("contestants")) {
            contestants_.push_back({name, make_contestant(name, roles, words), 0});
        }
        if (!simulated) {
            const bool apart = words.number("apart", 0) != 0;
            probe_ = std::make_unique<Probe>(roles.comm, apart ? roles.consumers : 1);
        }
    }

    void compete(std::int64_t repeats) {
        for (Entry& entry : contestants_) {
            entry.elements = fixed_ > 0 ? fixed_ : elements_for(*entry.way);
        }
        for (std::int64_t repetition = 0; repetition < repeats; ++repetition) {
            for (std::size_t turn = 0; turn < contestants_.size(); ++turn) {
                const auto at = (turn + static_cast<std::size_t>(repetition)) % contestants_.size();
                const double distance = one_way_ns();
                Entry& entry = contestants_[at];
                print(repetition, entry, run(*entry.way, entry.elements, fixed_ > 0), distance);
            }
        }
    }

  private:
    struct Entry {
        std::string name;
        std::unique_ptr<Contestant> way;
        std::int64_t elements;  // of each producer
    };

    /// As many as take about the wanted time.
    std::int64_t elements_for(Contestant& way) {
        const auto bytes = static_cast<double>(source_.bytes());
        auto elements = static_cast<std::int64_t>(std::clamp(1e6 / bytes, 1.0, 64.0));
        double seconds = run(way, elements, true).seconds;
        while (seconds < target_s_ / 4) {
            const double factor = std::clamp(target_s_ / 2 / std::max(seconds, 1e-7), 2.0, 32.0);
            elements = static_cast<std::int64_t>(static_cast<double>(elements) * factor);
            seconds = run(way, elements, false).seconds;
        }
        const double wanted = static_cast<double>(elements) * target_s_ / seconds;
        return std::max(static_cast<std::int64_t>(wanted), least_elements);
    }

    /// Between the cores of the sides, while all other processes sleep.
    double one_way_ns() {
        const double found = probe_ == nullptr ? 0 : probe_->one_way_ns();
        wait_asleep();
        return found;
    }

    Result run(Contestant& way, std::int64_t elements, bool checks) {
        SinkPlan plan = plan_;
        plan.checks = checks;
        Sink sink(plan);
        forget_peak();
        const std::int64_t before = memory_now("VmRSS");
        way.prepare(source_, roles_.consumes() ? &sink : nullptr, elements);
        MPI_Barrier(roles_.comm);
        const double begin = now();
        if (roles_.consumes()) {
            way.consume(sink, elements);
        } else {
            way.produce(source_, elements);
        }
        const double seconds = now() - begin;
        wait_asleep();
        Result result;
        result.seconds = over_ranks(seconds, MPI_MAX);
        result.elements = elements * roles_.producers();
        const auto grown = static_cast<double>(memory_now("VmHWM") - before);
        result.grown_bytes = over_ranks(roles_.consumes() ? grown : 0, MPI_MAX);
        way.finish();
        if (way.streams()) {
            check(sink, elements);
        }
        return result;
    }

    /// Until all are through. A rank that shares a core must not look for the others all the time.
    void wait_asleep() const {
        if (!roles_.yields || simulated) {
            return;
        }
        MPI_Request all = MPI_REQUEST_NULL;
        MPI_Ibarrier(roles_.comm, &all);
        for (int done = 0; done == 0; MPI_Test(&all, &done, MPI_STATUS_IGNORE)) {
            usleep(nap_us);
        }
    }

    /// Every element was processed exactly once.
    void check(const Sink& sink, std::int64_t elements) const {
        const double sent = roles_.consumes() ? 0 : static_cast<double>(elements);
        const double came = static_cast<double>(sink.elements());
        const double missing = over_ranks(sent - came, MPI_SUM);
        double error = 0;
        if (sink.checks()) {
            error =
                over_ranks((roles_.consumes() ? 0 : source_.sum(elements)) - sink.sum(), MPI_SUM);
        }
        if (missing != 0 || error != 0) {
            throw std::runtime_error(std::to_string(missing) +
                                     " elements are missing, the sum is " + std::to_string(error) +
                                     " short");
        }
    }

    void print(std::int64_t repetition, const Entry& entry, const Result& result,
               double distance) const {
        if (roles_.rank == 0) {
            std::printf(
                "{\"repetition\": %lld, \"contestant\": \"%s\", \"elements\": %lld, "
                "\"seconds\": %.9g, \"one_way_ns\": %.4g, \"grown_bytes\": %.0f, "
                "\"limit_bytes\": %.0f}\n",
                static_cast<long long>(repetition), entry.name.c_str(),
                static_cast<long long>(result.elements), result.seconds, distance,
                result.grown_bytes, entry.way->limit_bytes());
            std::fflush(stdout);
        }
    }

    static constexpr std::int64_t least_elements = 8;
    static constexpr useconds_t nap_us = 2000;

    Roles roles_;
    double target_s_;
    std::int64_t fixed_;
    Source source_;
    SinkPlan plan_;
    std::vector<Entry> contestants_;
    std::unique_ptr<Probe> probe_;
};

}  // namespace

int main(int argc, char** argv) {
    int given = MPI_THREAD_SINGLE;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &given);
    try {
        const Words words(argc, argv);
        Roles roles;
        MPI_Comm_rank(roles.comm, &roles.rank);
        MPI_Comm_size(roles.comm, &roles.ranks);
        roles.consumers = static_cast<int>(words.number("consumers", 1));
        roles.yields = words.number("yields", 0) != 0;
        const bool apart = words.number("apart", 0) != 0;
        pin(words.list("cores"), apart ? (roles.consumes() ? 0 : 1) : roles.rank);
        Contest(words, roles).compete(words.number("repeats", 10));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "contest: %s\n", error.what());
        usleep(300'000);  // launchers lose what was said just before
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
