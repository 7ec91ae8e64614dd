// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/packing.hpp"

#include <cstring>
#include <functional>
#include <numeric>
#include <random>

#include <doctest/doctest.h>

#include "fluvial/base/error.hpp"
#include "fluvial/mpi/datatype.hpp"

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

/// Frees its type at the end of the test.
struct Type {
    explicit Type(const std::function<int(MPI_Datatype*)>& make) {
        REQUIRE(make(&handle) == MPI_SUCCESS);
    }
    Type(const Type&) = delete;
    ~Type() { MPI_Type_free(&handle); }
    MPI_Datatype handle = MPI_DATATYPE_NULL;
};

/// Compares with what MPI itself packs and unpacks, from random memory on both sides of the
/// element's address.
void compare_with_mpi(MPI_Datatype type, const Comm& comm) {
    const PackedType packed(type, comm);
    const std::size_t margin =
        packed.span() + static_cast<std::size_t>(std::abs(packed.first_byte()));
    std::vector<std::byte> memory(2 * margin + 64);
    std::mt19937 random(1);
    for (std::byte& byte : memory) {
        byte = static_cast<std::byte>(random());
    }
    std::byte* const element = memory.data() + margin;
    MPI_Datatype committed = MPI_DATATYPE_NULL;
    REQUIRE(MPI_Type_dup(type, &committed) == MPI_SUCCESS);
    REQUIRE(MPI_Type_commit(&committed) == MPI_SUCCESS);
    std::vector<std::byte> expected(packed.bytes()), seen(packed.bytes());
    int position = 0;
    const int bytes = static_cast<int>(expected.size());
    REQUIRE(MPI_Pack(element, 1, committed, expected.data(), bytes, &position, comm.handle()) ==
            MPI_SUCCESS);
    CHECK(position == bytes);
    packed.pack(element, seen.data());
    CHECK((seen == expected));

    std::vector<std::byte> by_mpi(memory.size()), by_us(memory.size());
    position = 0;
    REQUIRE(MPI_Unpack(expected.data(), bytes, &position, by_mpi.data() + margin, 1, committed,
                       comm.handle()) == MPI_SUCCESS);
    packed.unpack(expected.data(), by_us.data() + margin);
    CHECK((by_us == by_mpi));
    if (packed.contiguous()) {
        CHECK(std::memcmp(element, expected.data(), expected.size()) == 0);
        CHECK(packed.extent() == bytes);
    }
    MPI_Type_free(&committed);
}

bool is_contiguous(MPI_Datatype type, const Comm& comm) {
    return PackedType(type, comm).contiguous();
}

}  // namespace

TEST_CASE("packed elements of every kind of type are what MPI packs") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    compare_with_mpi(MPI_DOUBLE, comm);
    compare_with_mpi(MPI_DOUBLE_INT, comm);  // ends with a gap
    compare_with_mpi(MPI_SHORT_INT, comm);   // has one inside
    const Type four([](MPI_Datatype* t) { return MPI_Type_contiguous(4, MPI_INT, t); });
    compare_with_mpi(four.handle, comm);
    const Type column([](MPI_Datatype* t) { return MPI_Type_vector(37, 1, 11, MPI_DOUBLE, t); });
    compare_with_mpi(column.handle, comm);
    const Type pairs([](MPI_Datatype* t) { return MPI_Type_vector(5, 2, 3, MPI_FLOAT, t); });
    const Type planes(
        [&](MPI_Datatype* t) { return MPI_Type_create_hvector(3, 2, 1000, pairs.handle, t); });
    compare_with_mpi(planes.handle, comm);
    const int lengths[] = {1, 3, 2};
    const MPI_Aint places[] = {40, -16, 8};  // backwards, and before the address
    const MPI_Datatype parts[] = {MPI_CHAR, MPI_SHORT, MPI_DOUBLE};
    const Type mixed(
        [&](MPI_Datatype* t) { return MPI_Type_create_struct(3, lengths, places, parts, t); });
    compare_with_mpi(mixed.handle, comm);
    const Type moved(
        [&](MPI_Datatype* t) { return MPI_Type_create_resized(mixed.handle, -24, 80, t); });
    compare_with_mpi(moved.handle, comm);
    const Type many([&](MPI_Datatype* t) { return MPI_Type_contiguous(9, moved.handle, t); });
    compare_with_mpi(many.handle, comm);
    const Type twice([](MPI_Datatype* t) {  // the same item two times
        const int ones[] = {1, 1};
        const MPI_Aint here[] = {0, 0};
        const MPI_Datatype both[] = {MPI_INT, MPI_INT};
        return MPI_Type_create_struct(2, ones, here, both, t);
    });
    CHECK(PackedType(twice.handle, comm).bytes() == 8);
    CHECK_FALSE(is_contiguous(twice.handle, comm));
    comm.close();
}

TEST_CASE("the outer layer of a sub-mesh goes without a copy of the user's") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    // A mesh of 6 x 7 x 8 with a halo of one: of the inner 4 x 5 x 6 the six faces.
    const int shape[] = {6, 7, 8};
    MPI_Datatype faces[6];
    for (int face = 0; face < 6; ++face) {
        int count[] = {4, 5, 6}, start[] = {1, 1, 1};
        const int axis = face / 2;
        start[axis] = face % 2 == 0 ? 1 : count[axis];
        count[axis] = 1;
        REQUIRE(MPI_Type_create_subarray(3, shape, count, start, MPI_ORDER_C, MPI_DOUBLE,
                                         &faces[face]) == MPI_SUCCESS);
        compare_with_mpi(faces[face], comm);
    }
    const int ones[] = {1, 1, 1, 1, 1, 1};
    const MPI_Aint zeros[6] = {};
    const Type layer(
        [&](MPI_Datatype* t) { return MPI_Type_create_struct(6, ones, zeros, faces, t); });
    for (MPI_Datatype& face : faces) {
        MPI_Type_free(&face);
    }
    compare_with_mpi(layer.handle, comm);
    const PackedType packed(layer.handle, comm);
    CHECK(packed.bytes() == 8 * 2 * (5 * 6 + 4 * 6 + 4 * 5));
    std::vector<double> mesh(6 * 7 * 8), sent(packed.bytes() / 8);
    std::iota(mesh.begin(), mesh.end(), 0.0);
    packed.pack(mesh.data(), reinterpret_cast<std::byte*>(sent.data()));
    CHECK(sent[0] == (1 * 7 + 1) * 8 + 1);
    CHECK(sent.back() == (4 * 7 + 5) * 8 + 6);
    comm.close();
}

TEST_CASE("contiguous types are told from those that only have the size of one") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    CHECK(is_contiguous(MPI_INT, comm));
    CHECK_FALSE(is_contiguous(MPI_DOUBLE_INT, comm));
    const Type four([](MPI_Datatype* t) { return MPI_Type_vector(2, 2, 2, MPI_INT, t); });
    CHECK(is_contiguous(four.handle, comm));
    const Type wide(
        [&](MPI_Datatype* t) { return MPI_Type_create_resized(four.handle, 0, 24, t); });
    CHECK_FALSE(is_contiguous(wide.handle, comm));
    const Type reversed([](MPI_Datatype* t) {
        const int lengths[] = {1, 1}, places[] = {1, 0};
        return MPI_Type_indexed(2, lengths, places, MPI_INT, t);
    });
    CHECK_FALSE(is_contiguous(reversed.handle, comm));
    compare_with_mpi(reversed.handle, comm);
    comm.close();
}

TEST_CASE("what spans too much memory to be learnt is packed by MPI") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const Type ends(
        [](MPI_Datatype* t) { return MPI_Type_vector(2, 1, 10'000'000, MPI_DOUBLE, t); });
    const PackedType packed(ends.handle, comm);
    std::vector<double> memory(10'000'001), copy(memory.size());
    memory.front() = 1.5;
    memory.back() = 2.5;
    double both[2] = {};
    packed.pack(memory.data(), reinterpret_cast<std::byte*>(both));
    CHECK(both[0] == 1.5);
    CHECK(both[1] == 2.5);
    packed.unpack(reinterpret_cast<const std::byte*>(both), copy.data());
    CHECK((copy == memory));
    comm.close();
}

TEST_CASE("a packed type outlives the user's and moves") {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    PackedType packed;
    CHECK(packed.bytes() == 0);
    {
        const Type column([](MPI_Datatype* t) { return MPI_Type_vector(3, 1, 2, MPI_INT, t); });
        packed = PackedType(column.handle, comm);
    }
    const int values[] = {1, 2, 3, 4, 5};
    int sent[3] = {};
    PackedType(std::move(packed)).pack(values, reinterpret_cast<std::byte*>(sent));
    CHECK(sent[2] == 5);
    const Type nothing([](MPI_Datatype* t) { return MPI_Type_contiguous(0, MPI_INT, t); });
    CHECK_THROWS_AS(PackedType(nothing.handle, comm), InvalidArgument);
    CHECK_THROWS_AS(PackedType(MPI_DATATYPE_NULL, comm), InvalidArgument);
    const Datatype three_gib = Datatype::payload(Index{3} << 30);
    CHECK_THROWS_AS(PackedType(three_gib.handle(), comm), InvalidArgument);
    comm.close();
}

TEST_CASE("the one type that a type is made of") {
    CHECK(only_item(MPI_INT) == MPI_INT);
    CHECK(only_item(MPI_DATATYPE_NULL) == MPI_DATATYPE_NULL);
    const Type column([](MPI_Datatype* t) { return MPI_Type_vector(3, 1, 2, MPI_FLOAT, t); });
    const Type nested([&](MPI_Datatype* t) { return MPI_Type_contiguous(3, column.handle, t); });
    CHECK(only_item(nested.handle) == MPI_FLOAT);
    const int lengths[] = {2, 1};
    const MPI_Aint places[] = {0, 64};
    const MPI_Datatype same[] = {nested.handle, MPI_FLOAT};
    const Type all(
        [&](MPI_Datatype* t) { return MPI_Type_create_struct(2, lengths, places, same, t); });
    CHECK(only_item(all.handle) == MPI_FLOAT);
    const MPI_Datatype different[] = {nested.handle, MPI_INT};
    const Type mixed(
        [&](MPI_Datatype* t) { return MPI_Type_create_struct(2, lengths, places, different, t); });
    CHECK(only_item(mixed.handle) == MPI_DATATYPE_NULL);
}
