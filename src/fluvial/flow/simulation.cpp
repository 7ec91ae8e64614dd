// SPDX-License-Identifier: Apache-2.0
#include "fluvial/flow/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <random>
#include <unordered_map>
#include <utility>

#include "fluvial/base/interrupt.hpp"
#include "fluvial/flow/plan.hpp"

namespace fluvial::flow {

namespace {

class Clockwork {
  public:
    Clockwork(const std::vector<SimulatedTask>& tasks, const std::vector<int>& hosts,
              const SchedulerOptions& options)
        : scheduler_(hosts, options) {
        result_.ranks = static_cast<int>(hosts.size());
        for (const SimulatedTask& task : tasks) {
            by_id_.emplace(task.request.task, &task);
            arrivals_.push_back(&task);
        }
        std::ranges::stable_sort(arrivals_, {}, &SimulatedTask::arrives_s);
    }

    Simulated run() {
        auto arrival = arrivals_.begin();
        while (arrival != arrivals_.end() || !ends_.empty()) {
            interrupt_.pass();
            const bool arrives = arrival != arrivals_.end() &&
                                 (ends_.empty() || (*arrival)->arrives_s <= ends_.top().first);
            const double now = arrives ? (*arrival)->arrives_s : ends_.top().first;
            for (; arrival != arrivals_.end() && (*arrival)->arrives_s <= now; ++arrival) {
                interrupt_.pass();
                scheduler_.add((*arrival)->request, now);
            }
            for (; !ends_.empty() && ends_.top().first <= now; ends_.pop()) {
                const Occupation& ended = result_.tasks[ends_.top().second];
                scheduler_.finish(ended.task, ended.ended_s - ended.began_s);
            }
            for (Start& start : scheduler_.next(now)) {
                begin(std::move(start), now);
            }
            result_.end_s = now;
        }
        return std::move(result_);
    }

  private:
    void begin(Start start, double now) {
        const SimulatedTask& task = *by_id_.at(start.task);
        const auto width = static_cast<double>(start.ranks.size());
        const double took = task.takes_s * task.request.widths.least / width;
        result_.busy_s += took * width;
        ends_.emplace(now + took, result_.tasks.size());
        result_.tasks.push_back(
            {start.task, task.arrives_s, now, now + took, std::move(start.ranks)});
    }

    Scheduler scheduler_;
    std::unordered_map<TaskId, const SimulatedTask*> by_id_;
    std::vector<const SimulatedTask*> arrivals_;
    using End = std::pair<double, std::size_t>;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    Simulated result_;
    InterruptPoints interrupt_;
};

class Load {
  public:
    explicit Load(unsigned seed) : random_(seed) {}

    double between(double low, double high) {
        return std::uniform_real_distribution<>(low, high)(random_);
    }
    double waits(double mean) { return std::exponential_distribution<>(1 / mean)(random_); }
    void shuffle() {
        std::ranges::shuffle(tasks_, random_);
        for (TaskId task = 0; task < tasks_.size(); ++task) {
            tasks_[task].request.task = task;
        }
    }
    void add(int width, double arrives_s, double takes_s, double cost_s) {
        interrupt_.pass();
        SimulatedTask task{{}, arrives_s, takes_s};
        task.request.task = tasks_.size();
        task.request.widths = {width, width, {}};
        task.request.cost_s = cost_s;
        tasks_.push_back(task);
    }
    std::vector<SimulatedTask> take() { return std::move(tasks_); }

  private:
    std::mt19937 random_;
    std::vector<SimulatedTask> tasks_;
    InterruptPoints interrupt_;
};

}  // namespace

Simulated simulate(const std::vector<SimulatedTask>& tasks, const std::vector<int>& hosts,
                   const SchedulerOptions& options) {
    return Clockwork(tasks, hosts, options).run();
}

double earliest_end_s(const std::vector<SimulatedTask>& tasks, int ranks) {
    std::vector<Planned> planned;
    double last_s = 0;
    for (const SimulatedTask& task : tasks) {
        planned.push_back({task.request.widths.least, task.takes_s});
        last_s = std::max(last_s, task.arrives_s + task.takes_s);
    }
    return std::max(last_s, bound_s(planned, ranks, {}));
}

std::vector<SimulatedTask> varying_widths(int ranks, int rounds, double error, unsigned seed) {
    Load load(seed);
    for (int round = 0; round < rounds; ++round) {
        for (int width = 1; width <= ranks; width *= 2) {
            const double takes = load.between(0.5, 1.5);
            const double off = std::isnan(error) ? unknown_s : load.between(-error, error);
            load.add(width, 0, takes, takes * (1 + off));
        }
    }
    load.shuffle();
    return load.take();
}

std::vector<SimulatedTask> arriving(int ranks, double load_part, double lasts_s, unsigned seed) {
    Load load(seed);
    std::vector<int> widths;
    for (int width = 1; width <= ranks; width *= 2) {
        widths.push_back(width);
    }
    const double mean_width =
        static_cast<double>(std::accumulate(widths.begin(), widths.end(), 0)) /
        static_cast<double>(widths.size());
    const double mean_wait_s = mean_width / (load_part * ranks);  // tasks take 1 s on average
    for (double now = load.waits(mean_wait_s); now < lasts_s; now += load.waits(mean_wait_s)) {
        const auto which =
            static_cast<std::size_t>(load.between(0, static_cast<double>(widths.size()) - 1e-9));
        load.add(widths[which], now, load.between(0.5, 1.5), unknown_s);
    }
    return load.take();
}

std::vector<SimulatedTask> parameter_sweep(double error, unsigned seed) {
    Load load(seed);
    for (int blocks = 0; blocks < 8; ++blocks) {
        for (int ranks = 16; ranks <= 512; ranks *= 2) {
            const double imbalance = 1 + std::abs(blocks - 5) / 5.0;
            const double takes = 200.0 * 16 / ranks + 0.05 * ranks * imbalance;
            load.add(ranks, 0, takes, takes * (1 + load.between(-error, error)));
        }
    }
    return load.take();
}

}  // namespace fluvial::flow
