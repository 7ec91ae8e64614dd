// SPDX-License-Identifier: Apache-2.0
#include "fluvial/mpi/local_operation.hpp"

#include <doctest/doctest.h>

using namespace fluvial;
using namespace fluvial::mpi;

namespace {

void keep_first(void*, void*, int*, MPI_Datatype*) {}

}  // namespace

TEST_CASE("MPI's types and dtypes name each other") {
    for (int number = 0; number < dtype_count; ++number) {
        const DType dtype = dtype_from_number(number);
        const auto type = c_type(dtype);
        CHECK(type.has_value() == (dtype != DType::Float16 && !is_complex(dtype)));
        if (type) {
            CHECK(element_type(*type) == dtype);
            int size = 0;
            MPI_Type_size(*type, &size);
            CHECK(static_cast<std::size_t>(size) == size_of(dtype));
        }
    }
    CHECK(element_type(MPI_LONG) == dtype_of<long>());
    CHECK(element_type(MPI_UINT16_T) == DType::UInt16);
    CHECK_THROWS_AS(element_type(MPI_DATATYPE_NULL), InvalidArgument);
    CHECK_THROWS_AS(element_type(MPI_FLOAT_INT), InvalidArgument);
}

TEST_CASE("operations work on local memory, and those that MPI would end the job for are refused") {
    const int in[] = {6, 3};
    int inout[] = {3, 8};
    reduce_local(in, inout, 2, MPI_INT, MPI_BOR);
    CHECK(inout[0] == 7);
    CHECK(inout[1] == 11);
    CHECK_NOTHROW(check_local_operation(MPI_BOR, MPI_INT));
    CHECK_NOTHROW(check_local_operation(MPI_SUM, MPI_FLOAT));
    for (const MPI_Op op : {MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP, MPI_MINLOC, MPI_BXOR, MPI_LAND}) {
        CHECK_THROWS_AS(check_local_operation(op, MPI_FLOAT), InvalidArgument);
    }
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(keep_first, 0, &op);
    CHECK_THROWS_WITH_AS(check_local_operation(op, MPI_FLOAT), doctest::Contains("commute"),
                         InvalidArgument);
    CHECK(operation_of(op) == Operation::Other);
    CHECK(operation_of(MPI_PROD) == Operation::Product);
    MPI_Op_free(&op);
}
