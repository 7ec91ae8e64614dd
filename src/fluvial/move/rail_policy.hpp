// SPDX-License-Identifier: Apache-2.0
/// Whether a read comes sooner over all rails or over one alone. Where the networks are the limit
/// it is all of them; where the cores are that serve them, more rails are only more work. It
/// depends on how much is read, and on what else the machine does, so both are tried.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fluvial::move {

/// Reads of about the same size have a choice of their own: five of them each way by turns, then
/// the way of the fastest, and the other once in a while, ever more seldom while it stays slower.
class RailPolicy {
  public:
    enum class Over { All, One };

    /// For the next read of so many bytes.
    Over next(std::uint64_t bytes);
    /// Such a read goes on over one rail, which has brought so much in that time: clearly less than
    /// all would have, so they had better help.
    bool hopeless(std::uint64_t bytes, std::uint64_t brought, double seconds) const;
    /// So much of such a read took so long. Of one that others had to help, for which
    /// the first trial is enough to know: what had come until then.
    void took(Over over, std::uint64_t bytes, std::uint64_t brought, double seconds);

  private:
    static constexpr std::size_t remembered = 5;
    struct Way {
        std::array<double, remembered> s_per_byte{};
        std::size_t count = 0;
        double typical() const;
    };
    struct Size {
        Way all, one;
        unsigned reads = 0;  ///< since the other way was tried
        unsigned pause = 0;  ///< reads until it is tried again
    };
    static Over chosen(const Size& size);
    std::array<Size, 65> sizes_{};  ///< by the number of bits of the bytes
};

}  // namespace fluvial::move
