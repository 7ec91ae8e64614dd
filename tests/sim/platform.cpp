// SPDX-License-Identifier: Apache-2.0
// A simulated machine for SimGrid: any topology of route/, with its links and its routing. The text
// of the topology, or of its file's contents, is in FLUVIAL_SIM_TOPOLOGY. Hosts are called by their
// numbers.
#include <cstdlib>
#include <string>
#include <vector>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

#include "fluvial/route/description.hpp"
#include "fluvial/route/registry.hpp"

namespace {

namespace route = fluvial::route;
namespace kernel = simgrid::kernel;

/// Routes of a Topology. SimGrid's own zones have fewer kinds of networks, and a matrix of all
/// routes of 2,048 hosts does not fit in memory.
class RoutedZone final : public kernel::routing::NetZoneImpl {
  public:
    RoutedZone(const std::string& name, route::TopologyPtr topology)
        : NetZoneImpl(name), topology_(std::move(topology)) {}

    void add_links() {
        constexpr double flops = 1e9;  // nothing is computed
        for (route::Node host = 0; host < topology_->hosts(); ++host) {
            create_host(std::to_string(host), {flops})->seal();
        }
        for (const route::Link& link : topology_->graph().links()) {
            const std::string name = "link" + std::to_string(links_.size());
            simgrid::s4u::Link* const made = create_link(name, {link.bandwidth});
            made->set_latency(link.latency)->seal();
            links_.push_back(made->get_impl());
        }
    }

  private:
    void get_local_route(const kernel::routing::NetPoint* from, const kernel::routing::NetPoint* to,
                         kernel::routing::Route* into, double* latency) override {
        const route::Route links =
            topology_->route(std::stoi(from->get_name()), std::stoi(to->get_name()));
        for (const route::LinkId id : links) {
            into->link_list_.push_back(links_[static_cast<std::size_t>(id)]);
        }
        *latency += topology_->graph().latency(links);
    }

    route::TopologyPtr topology_;
    std::vector<kernel::resource::StandardLinkImpl*> links_;
};

}  // namespace

extern "C" void load_platform(const simgrid::s4u::Engine&);

extern "C" void load_platform(const simgrid::s4u::Engine&) {
    const char* const text = std::getenv("FLUVIAL_SIM_TOPOLOGY");
    const std::string said = text == nullptr ? "" : text;
    auto* const zone = new RoutedZone(  // the engine deletes it
        "machine", said.starts_with("{")
                       ? route::make_topology(route::description_from_json(said), "machine")
                       : route::make_topology(said));
    zone->add_links();
    zone->get_iface()->seal();
}
