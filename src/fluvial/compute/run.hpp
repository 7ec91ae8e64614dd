// SPDX-License-Identifier: Apache-2.0
/// A run: values that an operator takes in one go, contiguous and of one type, however the piece
/// lay in memory.
///
/// walk() turns a piece into runs for all partials that need the same preparation: it fuses axes,
/// gathers strided values, swaps bytes, widens float16 to float32, applies mask and skipna, and
/// lets one summary serve all partials that asked for it.
#pragma once

#include <span>

#include "fluvial/compute/operator.hpp"
#include "fluvial/compute/summary.hpp"

namespace fluvial::compute {

inline constexpr int run_inputs_max = 4;
/// Elements of a run: 128 KiB of float64 stay in the second-level cache while several operators
/// read them.
inline constexpr Index run_count_max = 16384;

/// Several rows of kept cells at once, reduced along the rows: entry i belongs to kept position
/// cell + i.
struct Columns {
    Index rows = 0;
    const double* sum = nullptr;
    const void* low = nullptr;  ///< in the dtype of the run
    const void* high = nullptr;
};

struct Run {
    DType dtype = DType::Float64;  ///< of all values; float16 arrives as float32
    Index count = 0;
    const void* values[run_inputs_max] = {};
    const double* weights = nullptr;  ///< null: 1 everywhere
    const std::uint8_t* included =
        nullptr;                    ///< null: all; else elements where it is 0 do not count
    Index cell = 0, cell_step = 0;  ///< element i belongs to kept position cell + i * cell_step
    /// Row-major position in the selection, as the caller counts its axes; when asked for.
    Index position = 0, position_step = 0;
    const Columns* columns = nullptr;  ///< instead of values, to partials that take_columns()
    bool swapped =
        false;  ///< the bytes of the only input's values, to partials that take_swapped()
    const Summary* summary =
        nullptr;  ///< of the first input; null unless asked for, cell_step == 0, all included

    template <class T>
    const T* as(int input = 0) const {
        return static_cast<const T*>(values[input]);
    }
};

/// What has to be done to a piece before a kernel sees it. Partials with equal needs share the
/// work.
struct RunNeeds {
    DType dtype = DType::Float64;  ///< that the values are converted to
    int inputs = 1;
    bool skipna = false;  ///< pass over elements where any input is NaN
    bool positions =
        false;  ///< positions are kept: what mask and skipna exclude is marked, not squeezed out
    friend bool operator==(const RunNeeds&, const RunNeeds&) = default;
};

/// The dtype that kernels compute on: the dtype itself, but float32 for float16.
DType kernel_dtype(DType dtype);

/// A partial that works run by run.
class RunPartial : public Partial {
  public:
    /// Throws InvalidArgument when `domain` has another number of inputs than `needs`.
    RunPartial(std::string name, Domain domain, const RunNeeds& needs);
    void absorb(const Piece& piece) final;
    bool takes_blocks() const final { return true; }
    /// Before the first run of a piece, which may have none where nothing counts.
    virtual void begin_runs(bool /*weighted*/) {}
    virtual void absorb_run(const Run& run) = 0;
    /// After the last run of a piece: the state is complete.
    virtual void end_of_runs() {}
    /// SummaryPart bits that absorb_run makes use of where a summary is possible.
    virtual unsigned summary_parts() const { return 0; }
    /// Whether absorb_run makes do with run.columns, of float32 and float64, instead of one run a
    /// row.
    virtual bool takes_columns() const { return false; }
    /// Whether absorb_run looks at no value of a run that has a summary and no weights.
    virtual bool takes_summary_alone() const { return false; }
    /// Whether absorb_run takes runs of one cell whose values are swapped, unless they have
    /// weights.
    virtual bool takes_swapped() const { return false; }
    const RunNeeds& needs() const { return needs_; }
    const Domain& domain() const { return domain_; }
    const std::string& name() const { return name_; }

  protected:
    Index cells() const { return cells_; }
    const Coordinates& kept_shape() const { return kept_shape_; }

  private:
    std::string name_;
    Domain domain_;
    RunNeeds needs_;
    Coordinates kept_shape_;
    Index cells_;
};

/// Feeds `piece` to all partials, which have equal needs and domains. The piece must have passed
/// check_piece, or check_stored_piece: swapped inputs are put right run by run.
void walk(const Piece& piece, std::span<RunPartial* const> partials);

/// Global coordinates of a Run's position.
Coordinates global_coordinates(Index position, const Domain& domain);

}  // namespace fluvial::compute
