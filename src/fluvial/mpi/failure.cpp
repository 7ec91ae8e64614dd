// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/failure.hpp"

#include <exception>

#include <cxxabi.h>

#include "fluvial/base/bytes.hpp"
#include "fluvial/base/error.hpp"

namespace fluvial::mpi {

std::vector<std::byte> Failure::to_bytes() const {
    ByteWriter out;
    out.put_string(kind);
    out.put_string(message);
    out.put(rank);
    return out.take();
}

Failure Failure::from_bytes(std::span<const std::byte> bytes) {
    ByteReader in(bytes);
    Failure failure;
    failure.kind = in.get_string();
    failure.message = in.get_string();
    failure.rank = in.get<int>();
    return failure;
}

void Failure::raise(int ranks, int others) const {
    std::string whole = text("rank ", rank, " of ", ranks, ": ", message);
    if (others > 0) {
        whole += text(" (", others, " further ", others == 1 ? "rank" : "ranks", " failed too)");
    }
    throw_error(kind, whole);
}

std::optional<Failure> failure_of(int rank, const std::function<void()>& work) {
    try {
        work();
        return std::nullopt;
    } catch (const Error& error) {
        return Failure{error.kind(), error.what(), rank};
    } catch (const std::exception& error) {
        return Failure{"Error", error.what(), rank};
    } catch (const abi::__forced_unwind&) {
        throw;
    } catch (...) {
        return Failure{"Error", "an exception that is not a std::exception", rank};
    }
}

}  // namespace fluvial::mpi
