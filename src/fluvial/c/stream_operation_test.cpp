// SPDX-License-Identifier: Apache-2.0
#include "fluvial/c/stream_operation.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/local_operation.hpp"

using namespace fluvial;
using namespace fluvial::c;

namespace {

struct Type {
    explicit Type(const std::function<int(MPI_Datatype*)>& make) {
        REQUIRE(make(&handle) == MPI_SUCCESS);
        REQUIRE(MPI_Type_commit(&handle) == MPI_SUCCESS);
    }
    Type(const Type&) = delete;
    ~Type() { MPI_Type_free(&handle); }
    MPI_Datatype handle = MPI_DATATYPE_NULL;
};

template <class T>
struct Pair {
    T value = 0;
    std::int32_t number = 0;
};

/// What consumers hold is made here, by the words of an MPI program.
struct Consumer {
    Consumer(MPI_Datatype element, MPI_Datatype result, MPI_Datatype process, MPI_Op terminal,
             MPI_User_function* intermediate, const mpi::Comm& comm,
             MPI_User_function* at_end = nullptr, const MPIStream_Options& options = {})
        : types(std::make_shared<const StreamTypes>(element, result, process, terminal, at_end,
                                                    comm)),
          operation(make_operation(types, intermediate, options, comm)) {}

    template <class T>
    void take(const std::vector<T>& elements) {
        operation->absorb({reinterpret_cast<const std::byte*>(elements.data()),
                           elements.size() * sizeof(T), 0, 0});
    }
    template <class T>
    T result(std::span<const std::byte> bytes) const {
        T value{};
        types->result.unpack(TravellingResult(bytes).packed.data(), &value);
        return value;
    }
    template <class T>
    T local() const {
        return result<T>(operation->partial());
    }

    std::shared_ptr<const StreamTypes> types;
    std::unique_ptr<CombinedOperation> operation;
};

extern "C" void accumulate(void* in, void* inout, int* len, MPI_Datatype* type) {
    CHECK(*type == MPI_INT);
    if (*len == 0) {
        CHECK(in == nullptr);
        *static_cast<int*>(inout) = 0;
    }
    for (int i = 0; i < *len; ++i) {
        *static_cast<int*>(inout) += static_cast<int*>(in)[i];
    }
    *len = -1;  // an argument is the callee's own
}

extern "C" void count_calls(void* in, void* inout, int* len, MPI_Datatype*) {
    int* const calls = static_cast<int*>(inout);
    calls[*len == 0 ? 0 : 1] += *len == 0 ? 1 : *len;
    CHECK((in == nullptr) == (*len == 0));
}

extern "C" void keep_halves(void* in, void* inout, int* len, MPI_Datatype*) {
    const auto* element = static_cast<const Pair<double>*>(in);
    auto* best = static_cast<Pair<double>*>(inout);
    if (*len == 0) {
        *best = {-1e300, -1};
    } else if (element->value > best->value) {
        *best = *element;
    }
}

MPI_Aint extent_of(MPI_Datatype type) {
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
}

/// Each item times its place.
extern "C" void add_places(void* in, void* inout, int* len, MPI_Datatype* type) {
    auto* const sum = static_cast<long*>(inout);
    *sum = *len == 0 ? 0 : *sum;
    for (int i = 0; i < *len; ++i) {
        int item = 0;
        std::memcpy(&item, static_cast<std::byte*>(in) + i * extent_of(*type), sizeof item);
        *sum += static_cast<long>(i) * item;
    }
}

extern "C" void add_items(void* in, void* inout, int* len, MPI_Datatype* type) {
    for (int i = 0; i < *len; ++i) {
        const MPI_Aint at = i * extent_of(*type);
        int a = 0, b = 0;
        std::memcpy(&a, static_cast<std::byte*>(in) + at, sizeof a);
        std::memcpy(&b, static_cast<std::byte*>(inout) + at, sizeof b);
        b += a;
        std::memcpy(static_cast<std::byte*>(inout) + at, &b, sizeof b);
    }
}

extern "C" void join_text(void* in, void* inout, int* len, MPI_Datatype*) {
    const auto* a = static_cast<const char*>(in);
    auto* b = static_cast<char*>(inout);
    CHECK(*len == 8);
    const std::string all = std::string(a) + b;
    std::memcpy(b, all.c_str(), all.size() + 1);
}

extern "C" void first_letter(void* in, void* inout, int* len, MPI_Datatype*) {
    if (*len == 0) {
        std::memset(inout, 0, 8);
    } else {
        std::memcpy(inout, in, 1);
    }
}

int sum_batch(const void* elements, long long count, void* inout, void* context) {
    auto* const total = static_cast<double*>(inout);
    ++*static_cast<int*>(context);
    if (count == 0) {
        *total = 0;
    }
    for (long long i = 0; i < count; ++i) {
        *total += static_cast<const double*>(elements)[i];
    }
    return *total < 0 ? 7 : 0;
}

}  // namespace

TEST_CASE("an intermediate function is called with items of the process type") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    Consumer whole(MPI_INT, MPI_INT, MPI_INT, MPI_SUM, accumulate, comm);
    whole.take<int>({1, 2, 3});
    CHECK(whole.local<int>() == 6);
    const Type pair([](MPI_Datatype* t) { return MPI_Type_contiguous(2, MPI_INT, t); });
    Consumer calls(pair.handle, pair.handle, MPI_INT, MPI_OP_NULL, count_calls, comm);
    calls.take<int>({1, 2, 3, 4, 5, 6});
    struct Counts {
        int opened, items;
    };
    CHECK(calls.local<Counts>().opened == 1);
    CHECK(calls.local<Counts>().items == 6);  // three elements of two
    Consumer elements(pair.handle, pair.handle, MPI_DATATYPE_NULL, MPI_OP_NULL, count_calls, comm);
    elements.take<int>({1, 2, 3, 4, 5, 6});
    CHECK(elements.local<Counts>().items == 3);
    CHECK_THROWS_AS(Consumer(MPI_INT, MPI_INT, MPI_DOUBLE, MPI_SUM, accumulate, comm),
                    InvalidArgument);
    CHECK_THROWS_AS(Consumer(MPI_INT, MPI_INT, MPI_INT, MPI_SUM, nullptr, comm), InvalidArgument);
    comm.close();
}

TEST_CASE("elements with gaps arrive as their type lays them out") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    for (const MPI_Datatype process : {MPI_DATATYPE_NULL, MPI_DOUBLE_INT}) {
        Consumer best(MPI_DOUBLE_INT, MPI_DOUBLE_INT, process, MPI_MAXLOC, keep_halves, comm);
        const auto& type = best.types->element;
        CHECK(type.bytes() == 12);
        std::vector<std::byte> packed;
        for (const auto& element : {Pair<double>{1.5, 4}, {7.5, 5}, {2.5, 6}}) {
            packed.resize(packed.size() + type.bytes());
            type.pack(&element, packed.data() + packed.size() - type.bytes());
        }
        best.take(packed);
        CHECK(best.local<Pair<double>>().value == 7.5);
        CHECK(best.local<Pair<double>>().number == 5);
        Consumer other(MPI_DOUBLE_INT, MPI_DOUBLE_INT, process, MPI_MAXLOC, keep_halves, comm);
        const auto merged =
            best.operation->merge(other.operation->partial(), best.operation->partial());
        CHECK(best.result<Pair<double>>(merged).number == 5);
        CHECK(TravellingResult(merged).elements == 3);
    }
    comm.close();
}

TEST_CASE("items of a process type lie as its extent says, also downwards") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const auto resized = [](MPI_Datatype of, MPI_Aint extent) {
        return [=](MPI_Datatype* type) { return MPI_Type_create_resized(of, 0, extent, type); };
    };
    const Type many([](MPI_Datatype* t) { return MPI_Type_contiguous(1000, MPI_INT, t); });
    std::vector<int> element(1000);
    std::iota(element.begin(), element.end(), 0);
    for (const MPI_Aint extent : {4, -4, 12, -20}) {
        CAPTURE(extent);
        const Type item(resized(MPI_INT, extent));
        Consumer sum(many.handle, MPI_LONG, item.handle, MPI_SUM, add_places, comm);
        sum.take(element);
        CHECK(sum.local<long>() == 332'833'500);  // squares
        // The same memory stands behind an MPI_Op, and behind the combination of results.
        MPI_Op own = MPI_OP_NULL;
        MPI_Op_create(add_items, 1, &own);
        Consumer total(many.handle, many.handle, item.handle, own, MPIStream_Elementwise(own),
                       comm);
        total.take(element);
        total.take(element);
        const auto merged =
            total.operation->merge(total.operation->partial(), total.operation->partial());
        struct Many {
            int items[1000];
        };
        CHECK(total.local<Many>().items[7] == 14);
        CHECK(total.result<Many>(merged).items[999] == 4 * 999);
        mpi::free_operation(own);
    }
    for (const MPI_Aint extent : {0, 2, -3}) {
        CAPTURE(extent);
        const Type item(resized(MPI_INT, extent));
        const std::string words = text("1000 with an extent of ", extent, " bytes each");
        CHECK_THROWS_WITH_AS(
            Consumer(many.handle, MPI_LONG, item.handle, MPI_SUM, add_places, comm),
            doctest::Contains(words.c_str()), InvalidArgument);
        Consumer alone(MPI_INT, MPI_LONG, item.handle, MPI_SUM, add_places, comm);
        alone.take<int>({5, 6});
        CHECK(alone.local<long>() == 0);  // one in each element, at place 0
    }
    const Type far(resized(MPI_INT, MPI_Aint{1} << 60));
    CHECK_THROWS_WITH_AS(Consumer(many.handle, MPI_LONG, far.handle, MPI_SUM, add_places, comm),
                         doctest::Contains("too far apart"), InvalidArgument);
    comm.close();
}

TEST_CASE("an MPI_Op as intermediate function combines elements item by item") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    MPI_User_function* const largest = MPIStream_Elementwise(MPI_MAX);
    REQUIRE((largest != nullptr));
    CHECK((MPIStream_Elementwise(MPI_MAX) == largest));
    CHECK(elementwise_op(largest) == MPI_MAX);
    CHECK(elementwise_op(accumulate) == MPI_OP_NULL);
    const Type triple([](MPI_Datatype* t) { return MPI_Type_contiguous(3, MPI_INT, t); });
    Consumer max(triple.handle, triple.handle, MPI_INT, MPI_MAX, largest, comm);
    CHECK_FALSE(TravellingResult(max.operation->partial()).known);
    std::vector<int> elements;
    for (int i = 0; i < 30000; ++i) {
        elements.insert(elements.end(), {i % 977, -i, i == 12345 ? 5 : 0});
    }
    max.take(elements);
    max.take<int>({3, 7, 0});
    struct Triple {
        int items[3];
    };
    CHECK(max.local<Triple>().items[0] == 976);
    CHECK(max.local<Triple>().items[1] == 7);
    CHECK(max.local<Triple>().items[2] == 5);
    Consumer none(triple.handle, triple.handle, MPI_INT, MPI_MAX, largest, comm);
    const auto merged = max.operation->merge(none.operation->partial(), max.operation->partial());
    CHECK(max.result<Triple>(merged).items[0] == 976);

    Consumer sum(MPI_INT, MPI_INT, MPI_INT, MPI_SUM, MPIStream_Elementwise(MPI_SUM), comm);
    CHECK(TravellingResult(sum.operation->partial()).known);
    for (int i = 0; i < 100; ++i) {
        sum.take(std::vector<int>(static_cast<std::size_t>(i), 2));
    }
    CHECK(sum.local<int>() == 2 * 4950);
    int in = 3, inout = 9, length = 1;
    MPI_Datatype type = MPI_INT;
    largest(&in, &inout, &length, &type);  // works by itself, too
    CHECK(inout == 9);
    CHECK_THROWS_AS(Consumer(triple.handle, MPI_INT, MPI_INT, MPI_MAX, largest, comm),
                    InvalidArgument);
    CHECK_THROWS_AS(Consumer(MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE, MPI_SUM,
                             MPIStream_Elementwise(MPI_BAND), comm),
                    InvalidArgument);
    CHECK((MPIStream_Elementwise(MPI_OP_NULL) == nullptr));
    CHECK(std::string(MPIStream_LastError()).find("MPI_SUM") != std::string::npos);
    comm.close();
}

TEST_CASE("memory of elements is zero at first, whatever lay there before") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const mpi::PackedType item(MPI_INT, comm);
    for (const std::size_t count : {3u, 17u, 400u, 20000u}) {
        std::vector<int> found(count);
        for (int repeat = 0; repeat < 5; ++repeat) {
            for (const std::size_t more : {0u, 16u, 32u}) {  // which the heap hands out again
                const std::vector<std::byte> dirt(count * sizeof(int) + more, std::byte{0x55});
                CHECK(dirt.back() == std::byte{0x55});
            }
            TypedMemory memory(item, count);
            memory.pack(reinterpret_cast<std::byte*>(found.data()));
            CHECK(std::all_of(found.begin(), found.end(), [](int one) { return one == 0; }));
        }
    }
    comm.close();
}

TEST_CASE("results are combined in the order of ranks, as what the terminal function takes") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const Type word([](MPI_Datatype* t) { return MPI_Type_contiguous(8, MPI_CHAR, t); });
    MPI_Op join = mpi::create_operation(join_text);
    CHECK_FALSE(mpi::commutes(join));
    std::vector<std::unique_ptr<Consumer>> consumers;
    for (const char letter : {'a', 'b', 'c'}) {
        consumers.push_back(std::make_unique<Consumer>(word.handle, word.handle, MPI_CHAR, join,
                                                       first_letter, comm));
        consumers.back()->take(std::vector<char>(8, letter));
    }
    const auto& operation = *consumers[0]->operation;
    const auto merged =
        operation.merge(operation.merge(operation.partial(), consumers[1]->operation->partial()),
                        consumers[2]->operation->partial());
    struct Word {
        char letters[8];
    };
    CHECK(std::string(consumers[0]->result<Word>(merged).letters) == "abc");
    mpi::free_operation(join);

    // Nothing is combined: the result is the first consumer's.
    Consumer a(MPI_INT, MPI_INT, MPI_INT, MPI_OP_NULL, accumulate, comm);
    Consumer b(MPI_INT, MPI_INT, MPI_INT, MPI_OP_NULL, accumulate, comm);
    a.take<int>({5});
    b.take<int>({6});
    const auto kept = a.operation->merge(a.operation->partial(), b.operation->partial());
    CHECK(a.result<int>(kept) == 5);
    CHECK(TravellingResult(kept).elements == 1);

    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, 8};
    const MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE};
    const Type mixed(
        [&](MPI_Datatype* t) { return MPI_Type_create_struct(2, lengths, places, parts, t); });
    CHECK_THROWS_AS(Consumer(MPI_INT, mixed.handle, MPI_INT, MPI_SUM, accumulate, comm),
                    InvalidArgument);
    CHECK_THROWS_AS(Consumer(MPI_INT, MPI_FLOAT, MPI_INT, MPI_BAND, accumulate, comm),
                    InvalidArgument);
    CHECK_THROWS_AS(Consumer(MPI_INT, MPI_DATATYPE_NULL, MPI_INT, MPI_SUM, accumulate, comm),
                    InvalidArgument);
    CHECK_THROWS_AS(a.operation->merge(a.operation->partial(), consumers[0]->operation->partial()),
                    InvalidArgument);
    comm.close();
}

TEST_CASE("a terminal function closes each consumer's result once") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    const Type pair([](MPI_Datatype* t) { return MPI_Type_contiguous(2, MPI_INT, t); });
    MPI_Op op = mpi::create_operation(count_calls);
    Consumer consumer(pair.handle, pair.handle, MPI_INT, op, count_calls, comm, count_calls);
    consumer.take<int>({1, 2});
    consumer.operation->finish_local();
    struct Counts {
        int opened_or_closed, items;
    };
    CHECK(consumer.local<Counts>().opened_or_closed == 2);
    CHECK(consumer.local<Counts>().items == 2);
    mpi::free_operation(op);
    comm.close();
}

TEST_CASE("a batch function takes many elements, and what it returns is an error") {
    mpi::Comm comm = mpi::Comm::duplicate(MPI_COMM_WORLD);
    int calls = 0;
    MPIStream_Options options;
    REQUIRE(MPIStream_Options_init(&options) == MPI_SUCCESS);
    options.batch = sum_batch;
    options.batch_context = &calls;
    Consumer consumer(MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE, MPI_SUM, nullptr, comm, nullptr, options);
    consumer.take<double>({1, 2, 4});
    CHECK(consumer.local<double>() == 7);
    CHECK(calls == 2);
    CHECK(TravellingResult(consumer.operation->partial()).elements == 3);
    CHECK_THROWS_WITH_AS(consumer.take<double>({-100}), doctest::Contains("7"), Error);
    comm.close();
}
