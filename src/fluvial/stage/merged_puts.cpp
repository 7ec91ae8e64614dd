// SPDX-License-Identifier: Apache-2.0
#include "fluvial/stage/merged_puts.hpp"

#include <map>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/axis_labels.hpp"
#include "fluvial/distribute/registry.hpp"
#include "fluvial/distribute/strategy.hpp"

namespace fluvial::stage {
namespace {

void encode_coordinates(ByteWriter& out, const Coordinates& coordinates) {
    out.put_vector(std::vector<Index>(coordinates.begin(), coordinates.end()));
}

Coordinates decode_coordinates(ByteReader& in) {
    return Coordinates(std::span<const Index>(in.get_vector<Index>()));
}

/// What any rank says; throws where two say different things of one name.
void join(Attributes& known, const Attributes& said, const std::string& what) {
    for (const auto& [name, value] : said) {
        if (const auto [at, fresh] = known.emplace(name, value);
            !fresh && !say_the_same(at->second, value)) {
            throw InvalidArgument(Problem{"the ranks differ in " + what,
                                          "two values of '" + name + "'", "one for all",
                                          "Give every rank the same, or only one"});
        }
    }
}

/// The number of elements that at least one region has.
Index covered(const std::vector<Chunk>& chunks) {
    if (chunks.size() == 1) {
        return chunks.front().region.volume();
    }
    if (chunks.front().region.ndim() == 0) {
        return 1;
    }
    distribute::Request request;
    for (const Chunk& chunk : chunks) {
        request.chunks.push_back({chunk.region, chunk.rank, {}});
    }
    request.readers.resize(1);
    Index elements = 0;
    for (const auto& part :
         distribute::assign(request, *distribute::make_strategy("round-robin")).assigned) {
        elements += part.piece.region.volume();
    }
    return elements;
}

void check_whole(const DatasetDescription& dataset) {
    const Index size = volume_of(dataset.shape);
    Index put = 0;
    for (const Chunk& chunk : dataset.chunks) {
        put += chunk.region.volume();
    }
    const Index seen = covered(dataset.chunks);
    if (seen < size) {
        throw InvalidArgument(Problem{
            "parts of '" + dataset.name + "' are missing", text(seen, " of ", size, " elements"),
            "all of them in every step of a file", "Put what is missing, or a smaller shape"});
    }
    if (put > size) {
        throw InvalidArgument(Problem{"chunks of '" + dataset.name + "' overlap",
                                      text(put, " elements for ", size),
                                      "each element once in a step of a file", ""});
    }
}

}  // namespace

Bytes RankPuts::encode() const {
    ByteWriter out;
    out.put(number);
    fluvial::encode(out, attributes);
    fluvial::encode(out, of_series);
    out.put<std::uint64_t>(datasets.size());
    for (const DatasetDescription& dataset : datasets) {
        out.put_string(dataset.name);
        out.put(dataset.dtype);
        encode_coordinates(out, dataset.shape);
        fluvial::encode(out, dataset.attributes);
        out.put<std::uint64_t>(dataset.chunks.size());
        for (const Chunk& chunk : dataset.chunks) {
            encode_coordinates(out, chunk.region.offset);
            encode_coordinates(out, chunk.region.extent);
        }
    }
    return out.take();
}

RankPuts RankPuts::decode(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    RankPuts puts;
    puts.number = in.get<std::uint64_t>();
    puts.attributes = decode_attributes(in);
    puts.of_series = decode_attributes(in);
    puts.datasets.resize(in.get<std::uint64_t>());
    for (DatasetDescription& dataset : puts.datasets) {
        dataset.name = in.get_string();
        dataset.dtype = in.get<DType>();
        dataset.shape = decode_coordinates(in);
        dataset.attributes = decode_attributes(in);
        dataset.chunks.resize(in.get<std::uint64_t>());
        for (Chunk& chunk : dataset.chunks) {
            chunk.region.offset = decode_coordinates(in);
            chunk.region.extent = decode_coordinates(in);
        }
    }
    return puts;
}

store::StepContents merged(const std::vector<RankPuts>& of_all) {
    store::StepContents step;
    step.number = of_all.front().number;
    std::map<std::string, std::size_t> places;
    for (std::size_t rank = 0; rank < of_all.size(); ++rank) {
        const RankPuts& puts = of_all[rank];
        if (puts.number != step.number) {
            throw InvalidArgument(Problem{
                "the ranks differ in the number of a step", text(puts.number, " on rank ", rank),
                text(step.number, " as on rank 0"), "Begin and end steps on all ranks together"});
        }
        join(step.attributes, puts.attributes, "the attributes of a step");
        join(step.of_series, puts.of_series, "the attributes of the series");
        for (const DatasetDescription& dataset : puts.datasets) {
            const auto [at, fresh] = places.emplace(dataset.name, step.datasets.size());
            if (fresh) {
                step.datasets.push_back(dataset);
                step.datasets.back().chunks.clear();
            }
            DatasetDescription& known = step.datasets[at->second];
            if (known.dtype != dataset.dtype || known.shape != dataset.shape) {
                throw InvalidArgument(
                    Problem{"the ranks differ in '" + dataset.name + "'",
                            text(name_of(dataset.dtype), " ", dataset.shape, " on rank ", rank),
                            text(name_of(known.dtype), " ", known.shape), ""});
            }
            join(known.attributes, dataset.attributes, "the attributes of '" + dataset.name + "'");
            for (const Chunk& chunk : dataset.chunks) {
                known.chunks.push_back({chunk.region, static_cast<int>(rank), {}});
            }
        }
    }
    for (const DatasetDescription& dataset : step.datasets) {
        check_whole(dataset);
    }
    label_by_name(step.datasets);
    return step;
}

}  // namespace fluvial::stage
