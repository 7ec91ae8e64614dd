// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/share.hpp"

#include "fluvial/base/hash.hpp"
#include "fluvial/base/terms.hpp"
#include "fluvial/move/rank_watch.hpp"
#include "fluvial/mpi/agree.hpp"
#include "fluvial/stage/contact.hpp"

namespace fluvial::stage {
namespace {

struct Share {
    std::vector<distribute::Piece> mine;
    std::uint64_t digest = 0;  ///< of what all readers get
};

Share share_of(const StagedDataset& dataset, const ShareRequest& wanted, int rank) {
    distribute::Request request{{}, wanted.readers, size_of(dataset.dtype())};
    for (const Chunk& chunk : dataset.chunks()) {
        const distribute::Place place{{"host", wanted.writer_host(chunk.rank)}};
        request.chunks.push_back({chunk.region, chunk.rank, place});
    }
    Share share;
    std::vector<Index> all;
    for (const auto& [reader, piece] : distribute::assign(request, *wanted.strategy).assigned) {
        all.push_back(reader);
        all.insert(all.end(), piece.region.offset.begin(), piece.region.offset.end());
        all.insert(all.end(), piece.region.extent.begin(), piece.region.extent.end());
        if (reader == rank) {
            share.mine.push_back(piece);
        }
    }
    share.digest = hash_of(std::as_bytes(std::span(all)));
    return share;
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
    std::vector<std::uint64_t> digests;
    ShareRequest wanted;
    const auto validate = [&] {
        wanted = prepare();
        for (const std::string& name : wanted.datasets) {
            Share share = share_of(step.dataset(name), wanted, comm.rank());
            mine[name] = std::move(share.mine);
            digests.push_back(share.digest);
        }
    };
    const auto add_terms = [&](Terms& terms) {
        terms.add("the step that they share", exact(static_cast<std::int64_t>(step.index())),
                  "Share the same step on every rank");
        terms.add("the number of datasets that they share",
                  exact(static_cast<std::int64_t>(wanted.datasets.size())));
        for (const std::string& name : wanted.datasets) {
            terms.add("the datasets that they share", exact(name));
        }
        terms.add("the strategy", exact(wanted.strategy->describe()));
        for (const std::uint64_t digest : digests) {
            terms.add("what the strategy assigns (a checksum of it)",
                      exact(static_cast<std::int64_t>(digest)),
                      "Leave out of your own strategy what differs by rank, by chance or by the "
                      "order of a set");
        }
    };
    const move::WatchedTask task = move::watched(comm, step.stall_timeout_s(), "the series");
    task.during([&] { mpi::agree_on(comm, validate, add_terms); });
    return mine;
}

}  // namespace fluvial::stage
