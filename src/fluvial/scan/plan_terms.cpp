// SPDX-License-Identifier: Apache-2.0
#include "fluvial/scan/plan_terms.hpp"

#include <algorithm>
#include <filesystem>

namespace fluvial::scan {
namespace {

constexpr const char* own_selections =
    "Use shuffle ToOne or ToAll where each rank has a selection of its own";

const char* name_of(Options::Shuffle shuffle) {
    switch (shuffle) {
        case Options::Shuffle::Common:
            return "common";
        case Options::Shuffle::ToOne:
            return "to one";
        case Options::Shuffle::ToAll:
            return "to all";
    }
    return "";
}

std::string words_of(const std::optional<StoredValue>& value) {
    std::string words = "none";
    if (value) {
        words = "0x";
        for (const std::byte byte : value->bytes) {
            constexpr std::string_view digits = "0123456789abcdef";
            words += digits[std::to_integer<std::size_t>(byte >> 4)];
            words += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
        }
    }
    return words;
}

std::string words_of(const Decoding& decoding) {
    std::string missing;
    for (const StoredValue& value : decoding.missing) {
        missing += (missing.empty() ? "" : ", ") + words_of(value);
    }
    return text("missing [", missing, "], valid from ", words_of(decoding.valid_min), " to ",
                words_of(decoding.valid_max), ", scale ", exact(decoding.scale), ", offset ",
                exact(decoding.offset), decoding.packed ? ", packed" : "",
                !decoding.as_unsigned   ? ""
                : *decoding.as_unsigned ? ", unsigned"
                                        : ", signed");
}

/// Units do not depend on how long such an axis is in the last file.
bool may_grow(const store::Dataset& last, int axis) {
    return axis == 0 || !chunk_of(last.layout()).empty();
}

/// Without folders: nodes may have a file system in different places. Of `record_axis`, where it is
/// not -1, all ranks select the same record.
std::string words_of(const std::vector<DatasetPtr>& parts, int record_axis) {
    std::string words;
    for (const DatasetPtr& part : parts) {
        words += words.empty() ? "'" : "; '";
        words += part->name() + "' of '";
        words += std::filesystem::path(part->bytes().path()).filename().string() + "' ";
        words += fluvial::name_of(part->dtype());
        for (int axis = 0; axis < part->shape().size(); ++axis) {
            const bool any = part == parts.back() && axis == record_axis && may_grow(*part, axis);
            words += " x " + (any ? "any" : exact(part->shape()[axis]));
        }
    }
    return words;
}

std::string words_of(const Grouping& groups, bool with_members) {
    std::string words = text(groups.count, " along axis ", groups.axis);
    if (with_members) {
        words += ": " + exact(std::span<const int>(groups.group));
    }
    return words;
}

void add_rank_request(const RankRequest& rank_request, Options::Shuffle shuffle, Terms& terms) {
    const bool common = shuffle == Options::Shuffle::Common;
    if (common) {
        terms.add("the selection", compute::words_of(rank_request.selection), own_selections);
    }
    std::string weights;
    for (const AxisWeights& along : rank_request.weights) {
        weights += text(weights.empty() ? "" : ", ", "along axis ", along.axis);
        if (common) {
            weights +=
                text(" ", exact(std::span<const double>(along.factor)));  // GCC 12 warns of +
        }
    }
    terms.add("the weights", weights.empty() ? "none" : weights);
    terms.add("the axes that are selected backwards",
              exact(std::span<const int>(rank_request.backwards)), own_selections);
    terms.add("the groups", rank_request.groups ? words_of(*rank_request.groups, common) : "none");
}

}  // namespace

void add_terms(const Request& request, const Options& options, const Plan& plan, Terms& terms) {
    terms.add("the shuffle", name_of(options.shuffle));
    terms.add("the number of aggregators", exact(options.aggregators));
    terms.add("the bytes of a read", exact(static_cast<std::int64_t>(plan.buffer_bytes)),
              "Give every rank the same buffer (hint cb_buffer_size)");
    terms.add("whether the result is to be reproducible", exact(options.reproducible));
    const bool common = options.shuffle == Options::Shuffle::Common;
    const int record_axis = common ? request.record_axis.value_or(-1) : -1;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
        terms.add(text("the data of input ", i), words_of(request.inputs[i].parts, record_axis),
                  "Open the same files in the same order on every rank");
        terms.add(text("how values of input ", i, " are decoded"),
                  words_of(request.inputs[i].decoding));
    }
    terms.add("the axes to reduce over", exact(std::span<const int>(plan.over)));
    compute::add_terms(request.entries, terms);
    terms.add("whether missing elements make a result NaN", exact(request.missing_is_nan));
    const bool any_order = std::all_of(request.entries.begin(), request.entries.end(),
                                       [](const auto& entry) { return entry.op->any_order(); });
    terms.add("whether operators take pieces in any order", exact(any_order));
    std::string conditions;
    for (const Predicate& predicate : request.where) {
        conditions += (conditions.empty() ? "" : " and ") + predicate.declared;
    }
    terms.add("the conditions", conditions.empty() ? "none" : conditions,
              "Give every rank the same conditions; functions are known by name and version");
    if (options.shuffle != Options::Shuffle::ToAll) {
        add_rank_request(plan.own, options.shuffle, terms);
    }
}

}  // namespace fluvial::scan
