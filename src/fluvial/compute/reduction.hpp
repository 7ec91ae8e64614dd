// SPDX-License-Identifier: Apache-2.0
/// Several operators over the same region in one pass: data comes from memory once, whatever their
/// number.
///
///     const std::vector<Reduction::Entry> entries = {{"mean", make_operator("mean"), {0}},
///                                                    {"fastest", make_operator("max"), {1}}};
///     Reduction reduction(entries, domain);
///     for (const Piece& piece : pieces) {
///         reduction.absorb(piece);  // piece.inputs has a view for each dataset of the domain
///     }
///     reduction.merge_encoded(bytes_of_another_rank);  // one message for all operators
///     const Array mean = reduction.finish().at("mean").at("value");
///
/// Operators with the same inputs and needs are fed by one walk and share one summary a run; when
/// there are several groups, pieces are cut into blocks that stay in the second-level cache.
/// Memory: the sum of the partials.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fluvial/base/terms.hpp"
#include "fluvial/compute/run.hpp"

namespace fluvial::compute {

/// Bytes of all inputs of a block.
inline constexpr Index block_bytes_max = 256 * 1024;

class Reduction {
  public:
    struct Entry {
        std::string name;  ///< of the result; unique
        OperatorPtr op;
        std::vector<int> inputs;  ///< which datasets of the domain; empty: the first ones
    };

    /// Throws InvalidArgument for repeated names, datasets that do not exist, and what the
    /// operators refuse.
    Reduction(std::vector<Entry> entries, Domain domain);
    Reduction(Reduction&&) = default;
    Reduction& operator=(Reduction&&) = default;

    /// `piece.inputs` has one view for each dataset of the domain; each may be swapped, and gives
    /// the same result to the bit as in native order. Local. Throws InvalidArgument when it does
    /// not fit.
    void absorb(const Piece& piece);
    /// `other` has equal entries and domain. Local.
    void merge(const Reduction& other);
    /// The states of all operators as one message.
    std::vector<std::byte> encode() const;
    /// Merges what encode() of an equal reduction gave.
    void merge_encoded(std::span<const std::byte> bytes);
    /// Results by entry name.
    std::map<std::string, Result> finish() const;

    const Domain& domain() const { return domain_; }
    const std::vector<Entry>& entries() const { return entries_; }

  private:
    /// Partials that are fed together.
    struct Group {
        std::vector<int> inputs;
        std::vector<Partial*> partials;
        std::vector<RunPartial*>
            by_run;  ///< the same partials when they work run by run, else empty
        bool takes_blocks = false;
    };

    void group();
    void feed(const Group& group, const Piece& piece) const;
    /// `piece` has the inputs of the group alone.
    void feed_inputs(const Group& group, const Piece& piece) const;
    /// Puts swapped inputs into native order, block by block.
    void feed_native(const Group& group, const Piece& piece) const;

    std::vector<Entry> entries_;
    Domain domain_;
    std::vector<std::unique_ptr<Partial>> partials_;
    std::vector<Group> groups_;
};

/// What ranks must say alike of the operators of a reduction: names of the results, what each
/// operator is, and what it reads.
void add_terms(const std::vector<Reduction::Entry>& entries, Terms& terms);

/// Cuts a region into blocks of at most `elements_max` elements (at least 1) that follow the memory
/// order of `view`; calls visit(block, in the view's own coordinates) for each. Kept axes that are
/// contiguous in memory are cut to stripes first, so that the cells which a stripe updates stay in
/// the cache too.
void for_blocks(const ArrayView& view, const Domain& domain, Index elements_max,
                const std::function<void(const Region&)>& visit);

}  // namespace fluvial::compute
