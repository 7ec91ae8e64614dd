// SPDX-License-Identifier: Apache-2.0
#include "fluvial/progress/heartbeats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "fluvial/base/error.hpp"
#include "fluvial/host/file_place.hpp"

namespace fluvial::progress {

namespace {

constexpr double interval_max_s = 0.25;
/// Some may come late on a busy host.
constexpr double beats_in_limit_min = 8;
constexpr std::uint64_t forever = std::numeric_limits<std::uint64_t>::max();

double interval_s(double stall_timeout_s) {
    return std::min(interval_max_s, stall_timeout_s / beats_in_limit_min);
}

std::uint64_t beats_in(double stall_timeout_s) {
    const double beats = std::ceil(stall_timeout_s / interval_s(stall_timeout_s));
    return beats < 1e18 ? static_cast<std::uint64_t>(beats) : forever;
}

using Beats = std::atomic<std::uint64_t>;
static_assert(Beats::is_always_lock_free);

/// For the life of the process: others may come to see it at any time.
struct OwnBeats {
    host::MemoryFile file = host::MemoryFile::create("beats", sizeof(Beats));
    host::Mapping memory = file.map(host::Access::ReadWrite);
    host::FilePlace place = host::place_of(file);
    Beats& beats = *new (memory.data()) Beats{0};
};

/// Null where there can be none.
OwnBeats* own_beats() {
    static OwnBeats* const own = [] {
        try {
            return new OwnBeats;
        } catch (const Error&) {
            return static_cast<OwnBeats*>(nullptr);
        }
    }();
    return own;
}

/// Kept for the life of the process: to open a channel costs nothing for ranks that were in an
/// earlier one. The mapping holds the file, so no other file gets its number.
std::shared_ptr<const host::Mapping> beats_at(const host::FilePlace& place) {
    static std::mutex mutex;
    static auto* const known =
        new std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<const host::Mapping>>;
    const std::lock_guard lock(mutex);
    auto& memory = (*known)[{place.device, place.inode}];
    if (!memory) {
        const host::MemoryFile file = host::open_at(place);
        memory = std::make_shared<const host::Mapping>(file.map(host::Access::ReadOnly));
    }
    return memory;
}

}  // namespace

host::FilePlace own_beats_place() {
    const OwnBeats* const own = own_beats();
    return own != nullptr ? own->place : host::FilePlace{};
}

std::unique_ptr<Heartbeats> Heartbeats::begin(std::span<const Neighbour> neighbours,
                                              double stall_timeout_s) {
    if (std::isinf(stall_timeout_s) || neighbours.empty() || own_beats() == nullptr) {
        return nullptr;
    }
    std::vector<Other> others;
    for (const Neighbour& neighbour : neighbours) {
        if (neighbour.beats.descriptor < 0) {
            continue;
        }
        try {
            others.push_back({neighbour.member, beats_at(neighbour.beats)});
        } catch (const Error&) {
            continue;  // as in a container of its own: it is not watched
        }
    }
    return std::unique_ptr<Heartbeats>(new Heartbeats(std::move(others), stall_timeout_s));
}

Heartbeats::Heartbeats(std::vector<Other> others, double stall_timeout_s)
    : others_(std::move(others)),
      interval_ns_(static_cast<std::int64_t>(interval_s(stall_timeout_s) * 1e9)),
      watch_(others_.size(), beats_in(stall_timeout_s)),
      beats_(others_.size()) {
    ServiceThread::without_mpi().add(*this);
    ServiceThread::without_mpi().call(*this, interval_ns_);
}

Heartbeats::~Heartbeats() {
    ServiceThread::without_mpi().remove(*this);
}

std::optional<std::int64_t> Heartbeats::visit(const ServiceThread&) {
    own_beats()->beats.fetch_add(1, std::memory_order_relaxed);
    own_.fetch_add(1, std::memory_order_relaxed);
    return interval_ns_;
}

std::optional<Heartbeats::Silent> Heartbeats::look() {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        const void* const memory = others_[i].memory->data();
        beats_[i] = static_cast<const Beats*>(memory)->load(std::memory_order_relaxed);
    }
    const auto silent = watch_.look(own_.load(std::memory_order_relaxed), beats_);
    if (!silent) {
        return std::nullopt;
    }
    return Silent{others_[silent->number].member,
                  static_cast<double>(silent->beats) * static_cast<double>(interval_ns_) * 1e-9};
}

}  // namespace fluvial::progress
