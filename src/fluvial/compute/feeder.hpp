// SPDX-License-Identifier: Apache-2.0
/// The lines of a piece, one after the other, made into runs for partials of equal needs.
#pragma once

#include <vector>

#include "fluvial/compute/gather.hpp"
#include "fluvial/compute/nest.hpp"

namespace fluvial::compute {

/// One innermost loop of a piece: where it begins.
struct Line {
    const std::byte* inputs[run_inputs_max] = {};
    const std::byte* weights = nullptr;
    const std::byte* mask = nullptr;
    Index cell = 0, position = 0;
};

/// Cuts lines into runs, or joins short ones of the same cell: where only a summary is taken, as
/// they lie, else behind each other in a buffer. Runs are the same
/// whatever the byte order of the inputs, so that sums are the same to the bit.
class Feeder {
  public:
    Feeder(const Piece& piece, std::span<RunPartial* const> partials);

    void line(const Line& line, const Loop& loop);
    /// Whether lines of the loop `columns`, one after the other along `rows`, can be fed as tiles.
    bool takes_tiles(const Line& first, const Loop& rows, const Loop& columns) const;
    void tiles(const Line& first, const Loop& rows, const Loop& columns);
    /// Feeds what is still waiting; after the last line.
    void finish();

  private:
    static constexpr Index rows_max = 256;
    /// Elements of one summary whose values no partial reads itself; sums of more would lose
    /// digits.
    static constexpr Index summary_count_max = 2 * run_count_max;
    static constexpr Index gathered_max = 2048;            ///< in one go: 32 KiB of complex128
    static constexpr Index joined_max = gathered_max / 4;  ///< longer lines are runs themselves

    void add_row(const void* row, Index count, Index cell);
    bool summary_has_nan() const;
    bool rows_have_nan(Index rows) const;
    void finish_rows();
    void join(const Line& line, const Loop& loop);
    void finish_joined();
    void chunk(const Line& line, const Loop& loop, Index begin, Index count);
    bool excludes_any(const std::byte* mask, Index mask_stride) const;
    void feed_selected(const std::byte* mask, Index mask_stride);
    void select();
    void squeeze();
    bool summarise();
    void feed(bool summarised = false);
    void feed_tile(Index rows, Index stride);
    template <class T, class Kernel>
    bool summarise_tile(Kernel kernel, Index rows, Index stride);
    const void* fetch_row(const std::byte* data);
    const void* fetch(int input, const std::byte* data, Index stride, Index count);
    const double* fetch_weights(const std::byte* data, Index stride, Index count);
    void* buffer(int input, Index count);
    bool aligned(const std::byte* data) const;
    bool needs_gather(const Line& line, const Loop& loop) const;
    bool has_nan(const void* values, Index count, bool swapped) const;

    const RunNeeds& needs_;
    std::span<RunPartial* const> partials_;
    const bool masked_, weighted_;
    bool skipna_ = false, convert_ = false;
    bool summary_alone_ = true;  ///< no partial looks at values where there is a summary
    bool swapped_[run_inputs_max] = {};
    bool as_stored_ = false;  ///< values that are swapped may stay so in runs of one cell
    Index item_ = 0;
    unsigned parts_ = 0;
    Gather gather_[run_inputs_max] = {};
    Run run_;
    Summary summary_;
    Columns columns_;
    /// Rows of one cell and length that wait for their summary, as they lie in memory.
    const void* rows_[rows_max];
    Index rows_count_ = 0, rows_length_ = 0, rows_cell_ = 0;
    Index joined_ = 0, joined_cell_ = 0;  ///< elements in the buffers that wait to be fed
    std::vector<double> values_[run_inputs_max];
    std::vector<double> weights_;
    std::vector<double> row_;
    std::vector<std::uint8_t> included_;
};

}  // namespace fluvial::compute
