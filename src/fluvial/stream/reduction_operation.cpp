// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <utility>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/terms.hpp"
#include "fluvial/compute/merge_states.hpp"
#include "fluvial/stream/operation.hpp"

namespace fluvial::stream {
namespace {

constexpr int element_axis = 1;
constexpr std::uint64_t no_results = ~std::uint64_t{0};  ///< a failure follows
constexpr Index elements_max = Index{1} << 40;           ///< of one producer to one consumer

/// Elements of one producer that positions in a domain of `ranks` producers can count.
Index elements_of_domain(const Element& element, int ranks) {
    const Index items = volume_of(element.shape);
    const Index countable = std::numeric_limits<Index>::max() / 2 / items / std::max(ranks, 1);
    return std::min(elements_max, countable);
}

Region domain_region(const Element& element, int ranks) {
    Coordinates extent = {ranks, elements_of_domain(element, ranks)};
    for (const Index length : element.shape) {
        extent.push_back(length);
    }
    return whole(extent);
}

void check_element(const Element& element) {
    if (element.varies) {
        throw InvalidArgument(Problem{"operators need elements of one shape",
                                      "elements of varying size", "a dtype and a shape",
                                      "Use a callback for elements of varying size"});
    }
}

/// The caller that wants the results gets the failure, and the stream goes on.
std::vector<std::byte> encode_failure(const Error& error) {
    ByteWriter out;
    out.put(no_results);
    out.put_string(error.kind());
    out.put_string(error.what());
    return out.take();
}

/// One for each set of axes that operators work over; their states travel as one.
struct Reductions {
    std::vector<compute::Reduction> all;

    std::vector<std::byte> encode() const {
        ByteWriter out;
        for (const compute::Reduction& reduction : all) {
            const auto bytes = reduction.encode();
            out.put_block(bytes.data(), bytes.size());
        }
        return out.take();
    }
    void merge_encoded(std::span<const std::byte> bytes) {
        ByteReader in(bytes);
        for (compute::Reduction& reduction : all) {
            reduction.merge_encoded(in.get_block());
        }
    }
};

class ReductionOperation final : public Operation {
  public:
    ReductionOperation(std::vector<NamedOperator> operators, const Element& element, int ranks)
        : element_(element), domain_(domain_region(element, ranks)) {
        if (operators.empty()) {
            throw InvalidArgument(
                Problem{"a reduction needs an operator", "none", "one or more", ""});
        }
        for (NamedOperator& named : operators) {
            add(std::move(named));
        }
        reductions_ = fresh();
        strides_ = contiguous_strides(domain_.extent, 1);
    }

    void absorb(const Batch& batch) override {
        const std::size_t item = element_.item_bytes();
        auto from = static_cast<Index>(batch.first / item);
        Index left = static_cast<Index>(batch.bytes / item);
        if (from + left > strides_[0]) {
            throw InvalidArgument(Problem{"a producer has sent more elements than can be counted",
                                          text((from + left) / strides_[element_axis]),
                                          text(domain_.extent[element_axis]),
                                          "Start another stream"});
        }
        for (const std::byte* data = batch.data; left > 0;) {
            const Region block = largest_block(batch.producer, from, left);
            const ArrayView view(data, element_.dtype, block.extent);
            for (compute::Reduction& reduction : reductions_.all) {
                reduction.absorb({{&view, 1}, block, nullptr, nullptr});
            }
            const Index items = block.volume();
            data += static_cast<std::size_t>(items) * item;
            from += items;
            left -= items;
        }
    }

    std::string describe() const override {
        std::string words;
        for (const Group& group : groups_) {
            for (const auto& entry : group.entries) {
                words += text(words.empty() ? "'" : ", '", entry.name, "': ", entry.op->describe(),
                              " over ", exact(std::span<const int>(group.domain.over)));
            }
        }
        return words;
    }
    bool takes_parts() const override { return true; }
    std::vector<std::byte> partial() const override { return reductions_.encode(); }

    std::vector<std::byte> merge(std::vector<std::byte> a,
                                 std::span<const std::byte> b) const override {
        return compute::merge_states([this] { return fresh(); }, a, b);
    }

    std::vector<std::byte> finish(std::vector<std::byte> merged) const override {
        Reductions sum = fresh();
        sum.merge_encoded(merged);
        std::map<std::string, compute::Result> results;
        try {
            for (const compute::Reduction& reduction : sum.all) {
                results.merge(reduction.finish());
            }
        } catch (const Error& error) {  // the maximum of nothing, say
            return encode_failure(error);
        }
        return encode_results(results);
    }

  private:
    /// Operators over the same axes work in one pass.
    struct Group {
        std::vector<compute::Reduction::Entry> entries;
        compute::Domain domain;
    };

    void add(NamedOperator named) {
        for (const Group& group : groups_) {
            for (const auto& entry : group.entries) {
                if (entry.name == named.name) {
                    throw InvalidArgument(Problem{"two results of the same name",
                                                  "'" + named.name + "'", "unique names", ""});
                }
            }
        }
        auto domain = compute::make_domain(domain_, std::move(named.over), {element_.dtype});
        if (!std::binary_search(domain.over.begin(), domain.over.end(), element_axis)) {
            throw InvalidArgument(Problem{
                text("'", named.name, "' keeps the axis along which elements are counted"),
                "axis 1 is not among those reduced over",
                "axis 1, and any of the producers' (0) and the element's own (2 and up)", ""});
        }
        const auto same = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
            return group.domain.over == domain.over;
        });
        Group& group =
            same != groups_.end() ? *same : groups_.emplace_back(Group{{}, std::move(domain)});
        group.entries.push_back({std::move(named.name), std::move(named.op), {0}});
    }

    Reductions fresh() const {
        Reductions reductions;
        for (const Group& group : groups_) {
            reductions.all.emplace_back(group.entries, group.domain);
        }
        return reductions;
    }

    /// The largest box of the domain that begins with item number `from` of `producer`, and whose
    /// items are the next ones in row-major order, at most `left` of them.
    Region largest_block(int producer, Index from, Index left) const {
        Region block{Coordinates(domain_.ndim(), 0), Coordinates(domain_.ndim(), 1)};
        block.offset[0] = producer;
        bool widest = true;  // the outermost axis along which whole rows follow
        Index rest = from;
        for (int axis = element_axis; axis < domain_.ndim(); ++axis) {
            const Index stride = strides_[axis];
            block.offset[axis] = rest / stride;
            rest %= stride;
            if (!widest) {
                block.extent[axis] = domain_.extent[axis];
            } else if (rest == 0 && left >= stride) {
                block.extent[axis] =
                    std::min(left / stride, domain_.extent[axis] - block.offset[axis]);
                widest = false;
            }
        }
        return block;
    }

    Element element_;
    Region domain_;
    Coordinates strides_;  ///< in items, of a producer, an element, the element's axes
    std::vector<Group> groups_;
    Reductions reductions_;
};

}  // namespace

std::unique_ptr<Operation> make_reduction(std::vector<NamedOperator> operators,
                                          const Element& element, int ranks) {
    check_element(element);
    return std::make_unique<ReductionOperation>(std::move(operators), element, ranks);
}

std::vector<std::byte> encode_results(const std::map<std::string, compute::Result>& results) {
    ByteWriter out;
    out.put<std::uint64_t>(results.size());
    for (const auto& [name, result] : results) {
        out.put_string(name);
        out.put<std::uint64_t>(result.size());
        for (const auto& [part, array] : result) {
            out.put_string(part);
            out.put(array.dtype);
            out.put_vector(std::vector<Index>(array.shape.begin(), array.shape.end()));
            out.put_block(array.bytes.data(), array.bytes.size());
        }
    }
    return out.take();
}

std::map<std::string, compute::Result> decode_results(std::span<const std::byte> bytes) {
    std::map<std::string, compute::Result> results;
    if (bytes.empty()) {
        return results;
    }
    ByteReader in(bytes);
    const auto count = in.get<std::uint64_t>();
    if (count == no_results) {
        const std::string kind = in.get_string();
        throw_error(kind, in.get_string());
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        compute::Result& result = results[in.get_string()];
        for (auto parts = in.get<std::uint64_t>(); parts > 0; --parts) {
            compute::Array& array = result[in.get_string()];
            array.dtype = in.get<DType>();
            array.shape = Coordinates(std::span<const Index>(in.get_vector<Index>()));
            const auto block = in.get_block();
            array.bytes.assign(block.begin(), block.end());
        }
    }
    return results;
}

}  // namespace fluvial::stream
