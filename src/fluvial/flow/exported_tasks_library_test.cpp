// SPDX-License-Identifier: Apache-2.0
// A library of tasks as a user compiles it; task_library_test.cpp calls its functions.
#include <stdexcept>

#include <mpi.h>

#include "fluvial/flow/exported_task.hpp"

namespace {

double scaled(std::int64_t count, double by, bool negative) {
    return (negative ? -1 : 1) * static_cast<double>(count) * by;
}
std::string joined(std::string_view first, const std::string& second) {
    return std::string(first) + second;
}
std::tuple<std::int64_t, std::vector<std::byte>> backwards(std::span<const std::byte> bytes) {
    return {static_cast<std::int64_t>(bytes.size()), {bytes.rbegin(), bytes.rend()}};
}
bool negated(bool given) {
    return !given;
}
void refuse(std::string_view why) {
    throw std::runtime_error(std::string(why));
}
std::int64_t ranks(MPI_Comm team, std::int64_t more) {
    int size = 0;
    MPI_Comm_size(team, &size);
    return size + more;
}

}  // namespace

using fluvial::flow::exported;

FLUVIAL_EXPORT_TASKS(exported<scaled>("scaled"), exported<joined>("joined"),
                     exported<backwards>("backwards"), exported<negated>("negated"),
                     exported<refuse>("refuse"), fluvial::flow::exported_parallel<ranks>("ranks"))
