// SPDX-License-Identifier: Apache-2.0
/// by-host, by-socket, by-numa, by-layer(NAME): chunks stay with the readers of their host (socket,
/// NUMA node, or whatever layer), and another strategy distributes them among these; chunks where
/// no reader is go to all readers by the fallback, or, without one, stay unassigned. Chunks of
/// files are near to all readers, to which the strategy within gives them. Locality, as far as the
/// job's placement has it (Poeschel et al. 2021, section 3.2, figure 4).
#include <map>

#include "fluvial/distribute/registry.hpp"
#include "fluvial/distribute/subset.hpp"

namespace fluvial::distribute {
namespace {

class ByLayer final : public Strategy {
  public:
    ByLayer(std::string opening, std::string layer, StrategyPtr within, StrategyPtr fallback)
        : opening_(std::move(opening)),
          layer_(std::move(layer)),
          within_(std::move(within)),
          fallback_(std::move(fallback)) {}
    std::string describe() const override {
        return opening_ + within_->describe() +
               (fallback_ ? ", fallback=" + fallback_->describe() : "") + ")";
    }
    Distribution assign(const Request& request) const override {
        Distribution near = assign_near(request, nullptr);
        return fallback_ ? complete(request, std::move(near), *fallback_) : near;
    }
    Bounds bounds(const Request& request) const override {
        Bounds bounds{0, 0, 0};
        const Distribution near = assign_near(request, &bounds);
        if (fallback_ && !near.left.empty()) {
            Subset rest = with_all_readers(request);
            for (const Piece& piece : near.left) {
                rest.add(request, piece);
            }
            bounds = after(bounds, fallback_->bounds(rest.request));
        }
        return bounds;
    }

  private:
    /// What has a reader near it. `bounds`: also what the strategy within promises of that.
    Distribution assign_near(const Request& request, Bounds* bounds) const {
        std::map<std::string, Subset> groups;
        for (std::size_t i = 0; i < request.readers.size(); ++i) {
            if (const auto path = request.readers[i].down_to(layer_)) {
                Subset& group = groups[*path];
                group.request.element_bytes = request.element_bytes;
                group.request.readers.push_back(request.readers[i]);
                group.readers.push_back(static_cast<int>(i));
            }
        }
        Distribution out;
        Subset of_files = with_all_readers(request);
        for (std::size_t i = 0; i < request.chunks.size(); ++i) {
            const Piece whole{request.chunks[i].region, i};
            if (is_anywhere(request.chunks[i].place)) {
                of_files.add(request, whole);
                continue;
            }
            const auto path = request.chunks[i].place.down_to(layer_);
            const auto group = path ? groups.find(*path) : groups.end();
            if (group == groups.end()) {
                out.left.push_back(whole);
            } else {
                group->second.add(request, whole);
            }
        }
        for (const auto& [path, group] : groups) {
            append(out, within_->assign(group.request), group);
            if (bounds != nullptr) {
                *bounds = beside(*bounds, within_->bounds(group.request));
            }
        }
        if (!of_files.chunks.empty()) {
            append(out, within_->assign(of_files.request), of_files);
            if (bounds != nullptr) {
                *bounds = after(*bounds, within_->bounds(of_files.request));
            }
        }
        return out;
    }

    std::string opening_, layer_;
    StrategyPtr within_, fallback_;
};

StrategyPtr make_by(const std::string& opening, const std::string& layer, Arguments& arguments) {
    StrategyPtr within = arguments.strategy("within", "by-host(binpacking, fallback=hyperslabs)");
    StrategyPtr fallback = arguments.strategy_if_given("fallback");
    return std::make_shared<ByLayer>(opening, layer, std::move(within), std::move(fallback));
}

}  // namespace

Registration register_by_host() {
    return {"by-host",
            "chunks stay on their host, by another strategy; a fallback for the rest",
            [](Arguments& arguments) { return make_by("by-host(", "host", arguments); },
            {"by-host(binpacking, fallback=hyperslabs)",
             "by-host(by-numa(even-binpacking, fallback=round-robin), fallback=even-binpacking)"}};
}

Registration register_by_socket() {
    return {"by-socket",
            "chunks stay on their CPU socket, by another strategy; a fallback for the rest",
            [](Arguments& arguments) { return make_by("by-socket(", "socket", arguments); },
            {"by-socket(round-robin, fallback=even-binpacking)"}};
}

Registration register_by_numa() {
    return {"by-numa",
            "chunks stay on their NUMA node, by another strategy; a fallback for the rest",
            [](Arguments& arguments) { return make_by("by-numa(", "numa", arguments); },
            {"by-numa(binpacking, fallback=by-host(binpacking, fallback=hyperslabs))"}};
}

Registration register_by_layer() {
    return {"by-layer",
            "chunks stay in a layer of the user's, such as a rack; a fallback for the rest",
            [](Arguments& arguments) {
                const std::string layer =
                    arguments.word("layer", "by-layer(rack, binpacking, fallback=hyperslabs)");
                return make_by("by-layer(" + layer + ", ", layer, arguments);
            },
            {"by-layer(host, blocks, fallback=round-robin)"}};
}

}  // namespace fluvial::distribute
