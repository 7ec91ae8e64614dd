// SPDX-License-Identifier: Apache-2.0
#include "fluvial/move/declared_shares.hpp"

#include <cstring>

namespace fluvial::move {
namespace {

std::vector<std::byte> bytes_of(std::span<const Region> has, std::span<const Region> wants) {
    std::vector<Index> numbers{static_cast<Index>(has.size()), static_cast<Index>(wants.size())};
    for (const auto regions : {has, wants}) {
        for (const Region& region : regions) {
            numbers.insert(numbers.end(), region.offset.begin(), region.offset.end());
            numbers.insert(numbers.end(), region.extent.begin(), region.extent.end());
        }
    }
    const auto bytes = std::as_bytes(std::span(numbers));
    return {bytes.begin(), bytes.end()};
}

}  // namespace

DeclaredShares declared_by_all(const mpi::Comm& comm, int ndim, std::span<const Region> has,
                               std::span<const Region> wants) {
    DeclaredShares all;
    int rank = 0;
    for (const auto& bytes : comm.allgather(bytes_of(has, wants))) {
        std::vector<Index> numbers(bytes.size() / sizeof(Index));
        std::memcpy(numbers.data(), bytes.data(), bytes.size());
        std::span<const Index> rest = std::span<const Index>(numbers).subspan(2);
        const auto axes = static_cast<std::size_t>(ndim);
        for (Index i = 0; i < numbers[0] + numbers[1]; ++i) {
            const Region region{Coordinates(rest.first(axes)),
                                Coordinates(rest.subspan(axes, axes))};
            (i < numbers[0] ? all.held : all.wanted).push_back({rank, region});
            rest = rest.subspan(2 * axes);
        }
        ++rank;
    }
    return all;
}

}  // namespace fluvial::move
