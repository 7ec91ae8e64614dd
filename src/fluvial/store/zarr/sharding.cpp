// SPDX-License-Identifier: Apache-2.0
#include "fluvial/store/zarr/sharding.hpp"

#include <string>

#include "fluvial/store/zarr/codecs.hpp"
#include "fluvial/store/zarr/unsupported.hpp"

namespace fluvial::store {
namespace {

bool is_index_first(const Json* said) {
    const std::string word = said == nullptr ? "end" : said->string("index_location");
    if (word != "start" && word != "end") {
        throw InvalidArgument(
            Problem{"index_location is none", "'" + word + "'", "start, end", ""});
    }
    return word == "start";
}

}  // namespace

const Json* sharding_of(const Json& codecs) {
    const Json::List& list = codecs.list("codecs");
    const Json* const name = list.size() == 1 ? list.front().find("name") : nullptr;
    const auto* const word = name == nullptr ? nullptr : std::get_if<std::string>(&name->value());
    return word != nullptr && *word == "sharding_indexed" ? list.front().find("configuration")
                                                          : nullptr;
}

ZarrShards shards_of(const Json& options, const Coordinates& shard, const Coordinates& chunk) {
    ZarrShards shards{shard};
    bool fit = shard.size() == chunk.size();
    for (int axis = 0; fit && axis < shard.size(); ++axis) {
        fit = shard[axis] % chunk[axis] == 0;
        shards.chunks[axis] = shard[axis] / chunk[axis];
    }
    if (!fit) {
        throw InvalidArgument(
            Problem{"chunks do not divide a shard", text(chunk), text(shard), ""});
    }
    const Json* const codecs = options.find("index_codecs");
    if (codecs == nullptr) {
        throw InvalidArgument("the codec sharding_indexed has no index_codecs");
    }
    const ZarrCodecs index = zarr3_codecs(*codecs, shard.size() + 1, DType::UInt64);
    shards.checksum = index.filters.size() == 1 && index.filters[0].kind == Filter::Kind::Crc32c;
    if (!index.filters.empty() && !shards.checksum) {
        throw UnsupportedZarr("index_codecs " + text_of(*codecs), "bytes, and crc32c behind it");
    }
    shards.big_endian = index.big_endian;
    shards.index_first = is_index_first(options.find("index_location"));
    return shards;
}

}  // namespace fluvial::store
