// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/mpi_stream_state.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <type_traits>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/mpi/local_operation.hpp"

namespace {

constexpr std::size_t reported_items_max = 8;

template <class T>
T load(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// "39600", or "1 2 3 …"; empty where the items are of several types or of one that C++ lacks.
std::string items_text(const fluvial::mpi::PackedType& type, std::span<const std::byte> packed) {
    using namespace fluvial;
    std::ostringstream out;
    out.precision(17);
    try {
        const DType dtype = mpi::element_type(mpi::only_item(type.handle()));
        const std::size_t items = packed.size() / size_of(dtype);
        dispatch(dtype, [&]<class T>() {
            for (std::size_t i = 0; i < std::min(items, reported_items_max); ++i) {
                if constexpr (std::is_arithmetic_v<T>) {  // as all types of MPI's are
                    out << (i == 0 ? "" : " ") << +load<T>(packed.data() + i * sizeof(T));
                }
            }
        });
        out << (items > reported_items_max ? " …" : "");
    } catch (const InvalidArgument&) {
        return "";
    }
    return out.str();
}

}  // namespace

void MPIStream_State::send(const void* element) {
    const std::size_t bytes = types->element.bytes();
    if (!types->element.contiguous()) {
        if (choosing) {
            std::vector<std::byte> packed(bytes);
            types->element.pack(element, packed.data());
            stream.send(packed.data());
        } else {
            types->element.pack(element, stream.reserve().data());
            stream.commit();
        }
    } else if (bytes == 4) {
        stream.put(load<std::uint32_t>(element));
    } else if (bytes == 8) {
        stream.put(load<std::uint64_t>(element));
    } else {
        stream.send(element);
    }
}

void MPIStream_State::isend(const void* element) {
    sends_complete();  // forgets those that are
    if (types->element.contiguous()) {
        under_way.push_back(stream.isend(element));
        return;
    }
    const auto packed = std::make_shared<std::vector<std::byte>>(types->element.bytes());
    types->element.pack(element, packed->data());
    under_way.push_back(stream.isend(packed->data(), 1, packed));
}

bool MPIStream_State::sends_complete() {
    while (!under_way.empty() && under_way.front().test()) {
        under_way.pop_front();
    }
    return under_way.empty();
}

bool MPIStream_State::test() {
    const bool sent = sends_complete();
    if (operating && !stream.ended()) {
        channel->progress();
    }
    return sent && (!operating || stream.ended());
}

void MPIStream_State::wait() {
    for (; !under_way.empty(); under_way.pop_front()) {
        under_way.front().wait();
    }
    if (operating) {
        stream.operate();
    }
}

fluvial::c::TravellingResult MPIStream_State::result() {
    const std::vector<std::byte>& global = stream.result();
    if (types->combination.op != MPI_OP_NULL || !consumes(channel->role())) {
        return fluvial::c::TravellingResult(global);
    }
    own_result = operation->partial();
    return fluvial::c::TravellingResult(own_result);
}

bool MPIStream_State::take_answer(const fluvial::stream::Outcome& answer, void* resultbuf) {
    const fluvial::c::TravellingResult result(answer.result);
    covered = answer.elements;
    if (result.known) {
        types->result.unpack(result.packed.data(), resultbuf);
    }
    return result.known;
}

void MPIStream_State::report() {
    const char* const wanted = std::getenv("FLUVIAL_STREAM_REPORT");
    if (reported || !stream.ended()) {
        return;
    }
    reported = true;
    const std::vector<int> consumers = channel->consumers();
    if (wanted != nullptr && std::string(wanted) == "1" && !consumers.empty() &&
        consumers.front() == channel->rank()) {
        std::cout << report_line() << std::endl;
    }
}

std::string MPIStream_State::report_line() {
    const fluvial::c::TravellingResult all(stream.result());
    const std::string& name = stream.options().name;
    std::string line =
        fluvial::text(name.empty() ? fluvial::text("stream ", stream.number()) : name, ": ",
                      all.elements, " elements, ", all.elements * types->element.bytes(), " bytes");
    const std::string items = items_text(types->result, all.packed);
    if (types->combination.op != MPI_OP_NULL && all.known && !items.empty()) {
        line += ", result " + items;
    }
    return line;
}

MPI_User_function* MPIStream_ChannelState::terminal_of(MPI_Op op) const {
    for (const auto& [known, function] : terminals) {
        if (known == op) {
            return function;
        }
    }
    return nullptr;
}

void MPIStream_ChannelState::free() {
    std::exception_ptr failure;
    const auto attempt = [&](auto&& work) {
        try {
            work();
        } catch (...) {
            failure = failure ? failure : std::current_exception();
        }
    };
    attempt([&] { channel.close(); });
    for (MPIStream_State& stream : streams) {
        attempt([&] { stream.report(); });
    }
    streams.clear();
    for (const auto& [op, function] : terminals) {
        attempt([op = op] { fluvial::mpi::free_operation(op); });
    }
    attempt([&] { self.close(); });
    if (failure) {
        std::rethrow_exception(failure);
    }
}

namespace fluvial::c {

int mpi_code(int fluvial_code) noexcept {
    switch (fluvial_code) {
        case FLUVIAL_OK:
            return MPI_SUCCESS;
        case FLUVIAL_EINVAL:
        case FLUVIAL_ERANGE:
            return MPI_ERR_ARG;
        case FLUVIAL_ENOMEM:
            return MPI_ERR_NO_MEM;
        default:
            return MPI_ERR_OTHER;
    }
}

MPIStream_State& state_of(MPIStream* stream) {
    check_given(stream, "stream");
    check_given(stream->state, "what stands behind the stream (was it attached?)");
    return *stream->state;
}

MPIStream_ChannelState& state_of(MPIStream_Channel* channel) {
    check_given(channel, "channel");
    check_given(channel->state, "what stands behind the channel (was it created?)");
    return *channel->state;
}

}  // namespace fluvial::c
