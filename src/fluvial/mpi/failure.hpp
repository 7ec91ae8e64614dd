// SPDX-License-Identifier: Apache-2.0
/// A caught exception in a form that crosses ranks.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fluvial::mpi {

struct Failure {
    std::string kind;     ///< Error::kind(); "Error" for what does not derive from fluvial::Error
    std::string message;  ///< what()
    int rank = 0;         ///< where it was caught

    std::vector<std::byte> to_bytes() const;
    static Failure from_bytes(std::span<const std::byte> bytes);
    /// Throws the class that `kind` names: "rank 2 of 4: MESSAGE", and how many `others` failed
    /// too. Local.
    [[noreturn]] void raise(int ranks, int others = 0) const;
};

/// What `work` threw, if it did. Local; lets nothing out but what the runtime cannot do without
/// (thread cancellation).
std::optional<Failure> failure_of(int rank, const std::function<void()>& work);

}  // namespace fluvial::mpi
