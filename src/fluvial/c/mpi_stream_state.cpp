// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/mpi_stream_state.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <mutex>
#include <sstream>
#include <type_traits>

#include "fluvial/base/error.hpp"
#include "fluvial/describe/dtype.hpp"
#include "fluvial/mpi/environment.hpp"
#include "fluvial/mpi/local_operation.hpp"
#include "fluvial/stream/stream_state.hpp"

namespace fluvial::c {
namespace {

constexpr std::size_t reported_items_max = 8;
/// Handles that were freed last are not used again before as many others.
constexpr std::size_t graves_min = 256;
/// Absolute addresses are larger.
constexpr std::ptrdiff_t absolute_min = 4096;

template <class T>
T load(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// "39600", or "1 2 3 …"; empty where the items are of several types or of one that C++ lacks.
std::string items_text(const mpi::PackedType& type, std::span<const std::byte> packed) {
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

struct Graveyard {
    std::mutex mutex;
    std::list<MPIStream_State> states;
};

Graveyard& graveyard() {
    static auto* const one = new Graveyard;  // handles may outlive static objects
    return *one;
}

}  // namespace

void AttachedStream::send(const void* element) {
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

void AttachedStream::isend(const void* element) {
    sends_complete();  // forgets sends that are complete
    if (types->element.contiguous()) {
        under_way.push_back(stream.isend(element));
        return;
    }
    const auto packed = std::make_shared<std::vector<std::byte>>(types->element.bytes());
    types->element.pack(element, packed->data());
    under_way.push_back(stream.isend(packed->data(), 1, packed));
}

bool AttachedStream::sends_complete() {
    while (!under_way.empty()) {
        stream::Pending first = under_way.front();  // an operation may come here meanwhile
        if (!first.test()) {
            return false;
        }
        std::erase_if(under_way, [](const stream::Pending& one) { return one.complete(); });
    }
    return true;
}

bool AttachedStream::awaits_end() const {
    const stream::StreamState& state = *stream.state();
    return state.consumer && !(state.producer && !state.terminating) && !stream.ended();
}

bool AttachedStream::test() {
    if (!stream.ended() || !under_way.empty() || inquiry) {
        channel->progress();
    }
    return sends_complete() && !awaits_end();
}

void AttachedStream::wait() {
    if (test()) {
        return;
    }
    while (!sends_complete()) {
        stream::Pending first = under_way.front();
        first.wait();
    }
    if (awaits_end()) {
        stream.operate();
    }
}

TravellingResult AttachedStream::result() {
    const std::vector<std::byte>& global = stream.result();
    if (types->combination.op != MPI_OP_NULL || !consumes(channel->role())) {
        return TravellingResult(global);
    }
    return TravellingResult(*own_result);
}

bool AttachedStream::take_result(const stream::Outcome& outcome, void* resultbuf) {
    const TravellingResult result(outcome.result);
    covered = result.elements;
    if (result.known) {
        types->result.unpack(result.packed.data(), resultbuf);
    }
    return result.known;
}

void AttachedStream::report() {
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

std::string AttachedStream::report_line() {
    const TravellingResult all(stream.result());
    const std::uint64_t elements = stream.state()->outcome->elements;  // of all consumers
    const std::string& name = stream.options().name;
    std::string line = text(name.empty() ? text("stream ", stream.number()) : name, ": ", elements,
                            " elements, ", elements * types->element.bytes(), " bytes");
    const std::string items = items_text(types->result, all.packed);
    if (types->combination.op != MPI_OP_NULL && all.known && !items.empty()) {
        line += ", result " + items;
    }
    return line;
}

}  // namespace fluvial::c

MPIStream_State& MPIStream_ChannelState::add() {
    auto& graves = fluvial::c::graveyard();
    const std::lock_guard lock(graves.mutex);
    if (graves.states.size() > fluvial::c::graves_min) {
        streams.splice(streams.end(), graves.states, graves.states.begin());
    } else {
        streams.emplace_back();
    }
    return streams.back();
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
        attempt([&] {
            if (stream.attached) {
                stream.attached->report();
            }
        });
        stream.attached.reset();
    }
    {
        auto& graves = fluvial::c::graveyard();
        const std::lock_guard lock(graves.mutex);
        graves.states.splice(graves.states.end(), streams);
    }
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

AttachedStream& state_of(MPIStream* stream) {
    check_given(stream, "stream");
    check_given(stream->state, "what stands behind the stream (was it attached?)");
    if (!stream->state->attached) {
        throw InvalidArgument(Problem{"the channel of this stream was freed", "", "",
                                      "Take results before MPIStream_FreeChannel"});
    }
    mpi::check_running();
    return *stream->state->attached;
}

void check_memory(const void* address, const mpi::PackedType& type, const char* name) {
    if (address == MPI_IN_PLACE) {
        throw InvalidArgument(
            Problem{text(name, " is no memory"), "MPI_IN_PLACE", "an address", ""});
    }
    if (address == nullptr && type.first_byte() < absolute_min) {
        check_given(address, name);
    }
}

MPIStream_ChannelState& state_of(MPIStream_Channel* channel) {
    check_given(channel, "channel");
    check_given(channel->state, "what stands behind the channel (was it created?)");
    mpi::check_running();
    return *channel->state;
}

}  // namespace fluvial::c
