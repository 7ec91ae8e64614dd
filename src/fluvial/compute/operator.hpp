// SPDX-License-Identifier: Apache-2.0
/// The one interface of all operators: a mergeable reduction over chunks of datasets.
///
///     partial = op.identity(domain)                      nothing seen yet
///     partial.absorb(piece)                              one chunk, wherever it lies, in any order
///     partial.merge(other)                               associative; commutative up to rounding
///     partial.finish() -> Result                         named arrays
///
/// MPIStream's intermediate and terminal function (paper: "A Data Streaming Model in MPI", section
/// 3) and collective computing's map and reduce are this one thing. For any split of the data into
/// pieces and any merge tree the result is the same: bitwise for integers, min and max, to a
/// tolerance stated by the operator otherwise.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "fluvial/describe/array_view.hpp"
#include "fluvial/describe/dtype.hpp"

namespace fluvial::compute {

/// An n-d array that owns its bytes (row-major); a result is made of these.
struct Array {
    DType dtype = DType::Float64;
    Coordinates shape;
    std::vector<std::byte> bytes;

    Array() = default;
    Array(DType type, const Coordinates& extent);  ///< zero-filled
    ArrayView view() const { return {bytes.data(), dtype, shape}; }
    /// The elements in row-major order. Throws InvalidArgument when T is not the C++ type of
    /// `dtype`: but std::byte is taken, and integers of the same size, with and without sign.
    template <class T>
    T* as() {
        check_is<T>();
        return reinterpret_cast<T*>(bytes.data());
    }
    template <class T>
    const T* as() const {
        check_is<T>();
        return reinterpret_cast<const T*>(bytes.data());
    }

  private:
    template <class T>
    void check_is() const {
        if constexpr (!std::is_same_v<T, std::byte>) {
            constexpr DType asked = dtype_of<T>();
            const bool integers = is_integer(dtype) && is_integer(asked);
            if (dtype != asked && !(integers && size_of(dtype) == sizeof(T))) {
                throw_other_type(asked);
            }
        }
    }
    [[noreturn]] void throw_other_type(DType asked) const;
};

/// Named arrays, e.g. {"value": …} for a sum, {"value": …, "coordinates": …} for argmax. The main
/// one is "value".
using Result = std::map<std::string, Array>;

/// What the whole reduction covers, known before the first chunk arrives.
struct Domain {
    Region selection;           ///< global coordinates; every piece lies inside
    std::vector<int> over;      ///< axes that are reduced, ascending; the others are kept
    std::vector<DType> dtypes;  ///< of the inputs, as many as Operator::inputs()
    /// Axes that the caller counts from the end: of equal elements the one with the largest index
    /// along them is the first. Everything else stays in ascending coordinates.
    std::vector<int> backwards = {};

    bool is_backwards(int axis) const;

    /// Extents of the kept axes: the shape of a result with one number a kept position.
    Coordinates kept_shape() const;
};

/// A domain over all axes (`over` empty means all). Throws InvalidArgument for axes out of range or
/// repeated; negative axes count from the end.
Domain make_domain(const Region& selection, std::vector<int> over, std::vector<DType> dtypes);

/// One chunk as an operator sees it. All views have the extent of `where`.
struct Piece {
    std::span<const ArrayView> inputs;
    Region where;                        ///< global coordinates, inside Domain::selection
    const ArrayView* weights = nullptr;  ///< float64; none means 1 everywhere
    const ArrayView* mask =
        nullptr;  ///< uint8; elements where it is 0 are passed over; none means all
};

/// Throws InvalidArgument unless the piece fits the domain: number, dtypes and shapes of its
/// arrays, its place, and that no bytes are swapped. `name` opens the message. Every absorb calls
/// this first.
void check_piece(const Piece& piece, const Domain& domain, const std::string& name);
/// The same, but the inputs (never weights and mask) may be swapped: what a Reduction takes.
void check_stored_piece(const Piece& piece, const Domain& domain, const std::string& name);

/// The state of a reduction. One thread at a time; distinct partials are independent.
class Partial {
  public:
    virtual ~Partial() = default;
    virtual void absorb(const Piece& piece) = 0;
    /// `other` comes from the same operator and domain; it is left unchanged.
    virtual void merge(const Partial& other) = 0;
    virtual Result finish() const = 0;
    /// The state as bytes that decode() of an identity partial takes back: this is what travels
    /// between ranks.
    virtual std::vector<std::byte> encode() const = 0;
    virtual void decode(std::span<const std::byte> bytes) = 0;
    /// Whether absorbing a piece block by block costs nothing extra, so that a Reduction may cut it
    /// to fit the cache.
    virtual bool takes_blocks() const { return false; }
};

/// Describes a reduction and makes its partials. Immutable, shareable between threads.
class Operator {
  public:
    virtual ~Operator() = default;
    virtual std::string name() const = 0;
    /// Number of input arrays (1 for most, 3 position components for the structure factor).
    virtual int inputs() const { return 1; }
    /// Throws InvalidArgument when it cannot work on this domain (dtype, axes, number of inputs).
    virtual std::unique_ptr<Partial> identity(const Domain& domain) const = 0;
    /// Of an operator that a user writes: a word that changes whenever its meaning does, so that
    /// ranks which run different versions of it do not merge their results.
    virtual std::string version() const { return ""; }
    /// Name, version and options, in words that are equal exactly where operators are: ranks that
    /// reduce together compare them, because the operators themselves cannot be compared. What an
    /// operator of a user's has of options belongs into version() or here.
    virtual std::string describe() const;
    /// Whether the same pieces, absorbed by other partials and merged in another order, give the
    /// same result, unless they have weights; of sums: unless their last bit hangs on what float64
    /// pairs (106 bits) lose. Then a piece may go to any rank that is free.
    virtual bool any_order() const { return false; }
};

using OperatorPtr = std::shared_ptr<const Operator>;

/// Throws InvalidArgument unless `domain` has as many inputs as the operator takes.
void check_inputs(const Operator& op, const Domain& domain);

}  // namespace fluvial::compute
