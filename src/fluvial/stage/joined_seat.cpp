// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/joined_seat.hpp"

#include <algorithm>

#include "fluvial/base/error.hpp"
#include "fluvial/progress/engine.hpp"

namespace fluvial::stage {
namespace {

/// Adds what one host says of a step to what others said.
void merge(StepDescription& all, StepDescription& more, std::uint64_t index) {
    all.attributes.merge(more.attributes);
    for (auto& [name, dataset] : more.datasets) {
        const auto [place, fresh] = all.datasets.try_emplace(name);
        DatasetDescription& known = place->second;
        if (fresh) {
            known = std::move(dataset);
            continue;
        }
        if (known.dtype != dataset.dtype || !(known.shape == dataset.shape)) {
            throw Error(Problem{
                text("the writer's hosts disagree about the dataset '", name, "' of step ", index),
                text(name_of(dataset.dtype), dataset.shape),
                text(name_of(known.dtype), known.shape),
                "Give every rank of the writer the same dtype and global shape"});
        }
        known.attributes.merge(dataset.attributes);
        known.chunks.insert(known.chunks.end(), dataset.chunks.begin(), dataset.chunks.end());
    }
}

}  // namespace

/// A step of which each host has a part.
class JoinedSeat::JoinedStep final : public StepAccess {
  public:
    explicit JoinedStep(const std::vector<Part>& parts) : parts_(parts) {}
    void add(std::shared_ptr<StepAccess> access) { accesses_.push_back(std::move(access)); }

    std::shared_ptr<const std::byte> load(const Chunk& chunk, DType dtype,
                                          const std::string& what) override {
        return accesses_[part_of(chunk)]->load(chunk, dtype, what);
    }
    bool came_along(const Chunk& chunk) const override {
        return accesses_[part_of(chunk)]->came_along(chunk);
    }
    std::uint64_t bytes_along(const Chunk& chunk, const Region& box, DType dtype) const override {
        return accesses_[part_of(chunk)]->bytes_along(chunk, box, dtype);
    }
    bool reads_parts() const override {
        return std::any_of(accesses_.begin(), accesses_.end(),
                           [](const auto& access) { return access->reads_parts(); });
    }
    void read(const std::vector<ChunkBox>& boxes, DType dtype, const std::string& what) override {
        std::vector<std::vector<ChunkBox>> by_part(accesses_.size());
        for (const ChunkBox& box : boxes) {
            const std::size_t part = part_of(*box.chunk);
            if (box.chunk->here() != nullptr || !accesses_[part]->reads_parts()) {
                copy_box(box, dtype, what);
            } else {
                by_part[part].push_back(box);
            }
        }
        for (std::size_t part = 0; part < accesses_.size(); ++part) {
            if (!by_part[part].empty()) {
                accesses_[part]->read(by_part[part], dtype, what);
            }
        }
    }
    void was_read() override {
        for (const auto& access : accesses_) {
            access->was_read();
        }
    }
    void finish() override {
        for (const auto& access : accesses_) {
            access->finish();
        }
    }
    bool inherited() const override { return accesses_.front()->inherited(); }

  private:
    std::size_t part_of(const Chunk& chunk) const {
        for (std::size_t part = 0; part < parts_.size(); ++part) {
            const std::vector<int>& ranks = parts_[part].ranks;
            if (std::find(ranks.begin(), ranks.end(), chunk.rank) != ranks.end()) {
                return part;
            }
        }
        throw Error(text("a chunk is said to be of writer rank ", chunk.rank, ", on no host"));
    }
    /// Of a chunk in memory, or of one on this host's disk.
    void copy_box(const ChunkBox& box, DType dtype, const std::string& what) {
        const Chunk& chunk = *box.chunk;
        const auto loaded =
            chunk.here() == nullptr ? accesses_[part_of(chunk)]->load(chunk, dtype, what) : nullptr;
        const std::byte* data = loaded ? loaded.get() : chunk.here();
        copy(subview(ArrayView(data, dtype, chunk.region.extent), box.box),
             MutableArrayView{box.to, dtype, box.box.extent,
                              contiguous_strides(box.box.extent, size_of(dtype))});
    }

    std::vector<Part> parts_;
    std::vector<std::shared_ptr<StepAccess>> accesses_;  ///< by part
};

JoinedSeat::JoinedSeat(std::vector<Part> parts)
    : parts_(std::move(parts)),
      waiting_(parts_.size()),
      ended_(parts_.size()),
      passed_over_(parts_.size()),
      shares_out_(parts_.front().seat->shares_out()) {
    for (const Part& part : parts_) {
        from_ = std::max(from_, part.from);
    }
}

void JoinedSeat::wait_for_others() {
    for (const Part& part : parts_) {
        part.seat->wait_for_others();
    }
}

void JoinedSeat::next_follows() {
    if (shares_out_) {  // the others are asked when the first has answered
        parts_.front().seat->next_follows();
        return;
    }
    for (const Part& part : parts_) {
        part.seat->next_follows();
    }
}

std::optional<OpenedStep> JoinedSeat::next(HandleLock::Call& call, const Deadline& deadline,
                                           std::optional<std::uint64_t>) {
    return shares_out_ ? next_given(call, deadline) : next_of_all(call, deadline);
}

void JoinedSeat::look_for_failure() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!waiting_[i] && !ended_[i]) {
            parts_[i].seat->look_for_failure();
        }
    }
}

/// Of one host. What happens on another one meanwhile may be why no step comes here.
std::optional<OpenedStep> JoinedSeat::next_on(std::size_t part, HandleLock::Call& call,
                                              const Deadline& deadline,
                                              std::optional<std::uint64_t> given) {
    const progress::Lookout others([this](double) { look_for_failure(); });
    return parts_[part].seat->next(call, deadline, given);
}

/// Where steps are shared out, the first host says which is for this job, and the others are asked
/// for that.
std::optional<OpenedStep> JoinedSeat::next_given(HandleLock::Call& call, const Deadline& deadline) {
    auto& first = waiting_.front();
    while (true) {
        if (!first && !(first = next_on(0, call, deadline))) {
            break;
        }
        bool complete = true;
        for (std::size_t i = 1; complete && i < parts_.size(); ++i) {
            if (!waiting_[i]) {
                waiting_[i] = next_on(i, call, deadline, first->index);
                complete = waiting_[i].has_value();
            }
        }
        if (complete) {
            return join();
        }
        check_time(deadline);
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            pass_over(i);
        }
    }
    for (std::size_t i = 1; i < parts_.size(); ++i) {  // these have no further step for this job
        next_on(i, call, deadline);
    }
    return std::nullopt;
}

/// What is passed over for what others have may go on for ever, where all have something newer each
/// time.
void JoinedSeat::check_time(const Deadline& deadline) const {
    if (!deadline.passed()) {
        return;
    }
    std::string seen;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        seen += text(seen.empty() ? "" : ", ", parts_[i].seat->host(), ": ");
        seen += waiting_[i] ? text("step ", waiting_[i]->index) : "another";
    }
    throw TimedOut(Problem{"no step came within step_timeout that all hosts of the writer have",
                           seen, "", "Raise step_timeout, or call again"});
}

/// What is there of a step of which another host's part is missing.
void JoinedSeat::pass_over(std::size_t part) {
    if (auto& step = waiting_[part]) {
        step->access->finish();
        passed_over_[part] += step->index >= from_ ? 1 : 0;
        step.reset();
    }
}

std::optional<OpenedStep> JoinedSeat::next_of_all(HandleLock::Call& call,
                                                  const Deadline& deadline) {
    while (true) {
        std::uint64_t newest = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (!waiting_[i] && !ended_[i]) {
                waiting_[i] = next_on(i, call, deadline);
                ended_[i] = !waiting_[i];
            }
            newest = waiting_[i] ? std::max(newest, waiting_[i]->index) : newest;
        }
        const bool some_ended = std::find(ended_.begin(), ended_.end(), true) != ended_.end();
        bool complete = !some_ended;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (waiting_[i] && (some_ended || waiting_[i]->index < newest)) {
                pass_over(i);
                complete = false;
            }
        }
        if (complete) {
            return join();
        }
        if (std::find(ended_.begin(), ended_.end(), false) == ended_.end()) {
            return std::nullopt;
        }
        check_time(deadline);
    }
}

OpenedStep JoinedSeat::join() {
    auto access = std::make_shared<JoinedStep>(parts_);
    OpenedStep all;
    all.index = waiting_.front()->index;
    std::vector<StepDescription> records;
    for (auto& step : waiting_) {
        all.from_disk = all.from_disk || step->from_disk;
        access->add(std::move(step->access));
        records.push_back(std::move(step->description));
        step.reset();
    }
    ++steps_taken_;
    try {
        for (StepDescription& record : records) {
            merge(all.description, record, all.index);
        }
    } catch (...) {
        access->finish();
        throw;
    }
    // Of overlapping chunks the highest rank's is the last.
    for (auto& [name, dataset] : all.description.datasets) {
        std::stable_sort(dataset.chunks.begin(), dataset.chunks.end(),
                         [](const Chunk& a, const Chunk& b) { return a.rank < b.rank; });
    }
    all.access = std::move(access);
    return all;
}

SeriesDescription JoinedSeat::series() {
    SeriesDescription all;
    for (const Part& part : parts_) {
        all.add(part.seat->series());
    }
    return all;
}

/// On each host, what it has discarded itself and what was passed over there make all steps that
/// are lost, once it has come as far as the others.
SeatStats JoinedSeat::stats(std::uint64_t next_index) const {
    SeatStats all{};
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const SeatStats one = parts_[i].seat->stats(next_index);
        all.steps_discarded = std::max(all.steps_discarded, one.steps_discarded + passed_over_[i]);
        all.queue_depth = std::max(all.queue_depth, one.queue_depth);
        all.lag_steps = std::max(all.lag_steps, one.lag_steps);
    }
    all.steps_taken = steps_taken_;
    return all;
}

bool JoinedSeat::disk_was_full() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.seat->disk_was_full(); });
}

std::string JoinedSeat::host_of(int rank) const {
    std::size_t ranks = 0;
    for (const Part& part : parts_) {
        if (std::find(part.ranks.begin(), part.ranks.end(), rank) != part.ranks.end()) {
            return part.seat->host();
        }
        ranks += part.ranks.size();
    }
    check_writer_rank(rank, static_cast<int>(ranks));
    return host();
}

std::string JoinedSeat::transport() const {
    std::string all;
    for (const Part& part : parts_) {
        const std::string one = part.seat->transport();
        if (all.find(one) == std::string::npos) {
            all += text(all.empty() ? "" : ", ", one);
        }
    }
    return all;
}

std::map<std::string, std::uint64_t> JoinedSeat::bytes_by_interface() const {
    std::map<std::string, std::uint64_t> all;
    for (const Part& part : parts_) {
        for (const auto& [interface, bytes] : part.seat->bytes_by_interface()) {
            all[interface] += bytes;
        }
    }
    return all;
}

bool JoinedSeat::is_elsewhere() const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [](const Part& part) { return part.seat->is_elsewhere(); });
}

void JoinedSeat::share(const std::shared_ptr<move::SharedClaims>& claims, std::uint32_t host) {
    for (const Part& part : parts_) {
        part.seat->share(claims, host++);
    }
}

std::uint64_t JoinedSeat::bytes_from_neighbours() const {
    std::uint64_t all = 0;
    for (const Part& part : parts_) {
        all += part.seat->bytes_from_neighbours();
    }
    return all;
}

void JoinedSeat::wake() {
    for (const Part& part : parts_) {
        part.seat->wake();
    }
}

void JoinedSeat::leave() {
    for (auto& step : waiting_) {
        if (step) {
            step->access->abandon();
            step.reset();
        }
    }
    for (const Part& part : parts_) {
        part.seat->leave();
    }
}

}  // namespace fluvial::stage
