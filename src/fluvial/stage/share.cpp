// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/share.hpp"

#include "fluvial/base/terms.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/stage/contact.hpp"

namespace fluvial::stage {
namespace {

std::vector<distribute::Piece> share_of(const StagedDataset& dataset, const ShareRequest& wanted,
                                        int rank) {
    distribute::Request request{{}, wanted.readers, size_of(dataset.dtype())};
    for (const Chunk& chunk : dataset.chunks()) {
        const distribute::Place place{{"host", wanted.writer_host(chunk.rank)}};
        request.chunks.push_back({chunk.region, chunk.rank, place});
    }
    std::vector<distribute::Piece> mine;
    for (const auto& [reader, piece] : distribute::assign(request, *wanted.strategy).assigned) {
        if (reader == rank) {
            mine.push_back(piece);
        }
    }
    return mine;
}

}  // namespace

std::vector<distribute::Place> places_of(const mpi::Comm& comm) {
    const std::string host = hostname();
    std::vector<distribute::Place> places;
    for (const auto& bytes : comm.allgather(std::as_bytes(std::span(host)))) {
        const auto* first = reinterpret_cast<const char*>(bytes.data());
        places.push_back({{"host", std::string(first, bytes.size())}});
    }
    return places;
}

std::map<std::string, std::vector<distribute::Piece>> share_of(
    const ReadStep& step, const std::function<ShareRequest()>& prepare, const mpi::Comm& comm) {
    std::map<std::string, std::vector<distribute::Piece>> mine;
    ShareRequest wanted;
    const auto validate = [&] {
        wanted = prepare();
        for (const std::string& name : wanted.datasets) {
            mine[name] = share_of(step.dataset(name), wanted, comm.rank());
        }
    };
    mpi::agree_on(comm, validate, [&](Terms& terms) {
        terms.add("the step that they share", exact(static_cast<std::int64_t>(step.index())),
                  "Share the same step on every rank");
        terms.add("the number of datasets that they share",
                  exact(static_cast<std::int64_t>(wanted.datasets.size())));
        for (const std::string& name : wanted.datasets) {
            terms.add("the datasets that they share", exact(name));
        }
        terms.add("the strategy", exact(wanted.strategy->describe()));
    });
    return mine;
}

}  // namespace fluvial::stage
