// SPDX-License-Identifier: Apache-2.0
/// How fast each path of a flow has been, and how much of what is left it is given next.
///
/// A window that is handed out stays with its path. With windows of one length, the path that is
/// slowest by far would still have its last ones to carry when all others are done. So:
/// | a path                                   | is given                                   |
/// |------------------------------------------|--------------------------------------------|
/// | of which nothing is known yet            | a whole window                             |
/// | half as fast as the fastest one, or less | a half, a quarter or an eighth of a window |
/// | that would end later than the others     | what it can carry until then, or nothing   |
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>

namespace fluvial::move {

/// Measures one path by the sends that are complete. Local, pure.
class PathPace {
  public:
    explicit PathPace(double now_s) : marks_{{now_s, 0}} {}
    /// So many bytes more were handed to it.
    void send(std::size_t bytes) { sent_ += bytes; }
    /// So many bytes more have left.
    void complete(std::size_t bytes, double now_s);
    /// Of the later half of what has left, since the first windows find all slots empty; less where
    /// the next one has been waited for longer than that. 0: nothing is known yet.
    double bytes_per_s(double now_s) const;
    /// Whether windows have left that found no empty slot.
    bool settled() const { return marks_.size() > settled_marks; }
    std::size_t under_way() const { return sent_ - marks_.back().second; }

  private:
    static constexpr std::size_t settled_marks = 4;

    std::deque<std::pair<double, std::size_t>> marks_;  ///< when, and bytes that had left by then
    std::size_t sent_ = 0;
};

struct PaceOfPath {
    double bytes_per_s = 0;  ///< 0: not known
    bool settled = false;    ///< else it may be slower than it seems
    double under_way = 0;    ///< bytes
};

/// No window is shorter than this part of a whole one, or than so many bytes, but for what is left.
inline constexpr std::size_t shortest_part = 8, shortest_bytes = 4096;

/// The bytes to hand to path `which`, which has room, of the `left` ones that no path has; `paths`
/// are those that take windows. 0: others are to have them. There is always one path at least that
/// would be given something.
std::size_t next_window(std::span<const PaceOfPath> paths, std::size_t which, std::size_t left,
                        std::size_t window);

}  // namespace fluvial::move
