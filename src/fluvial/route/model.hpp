// SPDX-License-Identifier: Apache-2.0
/// How long a transfer takes by how many paths, in windows of which size: by this it is decided
/// whether several paths pay at all.
///
///     T(k, w) = 2 send + latency + k path + q f + max(n/k s, n send),  n = ⌈bytes / w⌉ windows,
///     s = w / bandwidth + window;  q proxies are filled before data arrives at the last host, at
///     f = s of a path that has its links for itself
///     T(direct) = 2 send + latency + bytes / bandwidth
///
/// The costs are fitted to simulations of the torus of 512 hosts with nine paths: mpi_like within
/// 15 % of them from 128 KiB to 128 MiB, pami_like within 2 %. Bandwidths are those that a plan
/// leaves: where paths share a link, each has its part of it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "fluvial/route/plan.hpp"

namespace fluvial::route {

/// Seconds that software takes.
struct Costs {
    double send_s = 0;    ///< to begin or to end one send
    double window_s = 0;  ///< of a window, that cannot be hidden behind the one before
    double path_s = 0;    ///< to begin with one more path
};

inline constexpr Costs mpi_like{1e-6, 4e-6, 2.8e-6};
inline constexpr Costs pami_like{0.7e-6, 0.05e-6, 0.2e-6};
/// MPI over TCP, where each window wakes processes and passes the kernel; to be on the safe side.
inline constexpr Costs tcp_like{10e-6, 100e-6, 50e-6};

/// "mpi", "pami" or "tcp". Throws UnknownName for another one.
Costs costs_named(std::string_view name);

/// Messages up to this size go direct.
inline constexpr double direct_bytes = 8192;

struct Prediction {
    std::size_t paths = 1;
    double window_bytes = 0;  ///< the whole message where it goes direct
    bool direct = true;
    double seconds = 0;
    double direct_seconds = 0;

    double speed_up() const { return seconds > 0 ? direct_seconds / seconds : 1; }
};

class Model {
  public:
    static constexpr double window_bytes_min = 1024, window_bytes_max = 1 << 20;
    /// Of windows by which a transfer takes no more than so many times the least, the largest is
    /// chosen: fewer messages.
    static constexpr double as_good = 1.01;
    /// Several paths are to gain at least so much, or the message goes direct.
    static constexpr double gain_min = 1.05;

    /// `plan` of these flows.
    Model(const Topology& topology, std::span<const Flow> flows, const Plan& plan,
          const Costs& costs);

    /// How many paths the plan has for a flow.
    std::size_t paths(std::size_t flow) const { return ways_[flow].size(); }
    /// Seconds by the route that the network has, while all other flows go direct as well.
    double direct(std::size_t flow, double bytes) const;
    /// Seconds by the first so many paths of the flow, in windows of so many bytes.
    double seconds(std::size_t flow, double bytes, std::size_t paths, double window_bytes) const;
    /// The fastest number of paths and size of a window, a power of two; direct for small messages
    /// and where nothing is faster by gain_min. If the plan as a whole is, a flow that gains
    /// nothing for itself still takes all its paths, which leave links to others, unless it would
    /// end later than the slowest flow if all went direct.
    Prediction best(std::size_t flow, double bytes) const;
    /// The same with so many paths, 1 or more; direct only from a host to itself.
    Prediction with_paths(std::size_t flow, double bytes, std::size_t paths) const;

  private:
    struct Way {
        double bandwidth, bandwidth_alone, latency;
        std::size_t proxies;
    };

    bool others_rely_on(std::size_t flow, double bytes, const Prediction& planned) const;

    Costs costs_;
    /// Seconds that direct routes of all flows take, for each byte of a flow; none where the plan
    /// is hardly better.
    std::vector<double> direct_load_s_;
    std::vector<Way> direct_;
    std::vector<std::vector<Way>> ways_;  ///< by flow: those with fewest proxies first
};

}  // namespace fluvial::route
