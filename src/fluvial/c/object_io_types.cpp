// SPDX-License-Identifier: Apache-2.0
/// Object I/O by the C type of its result.
#include "fluvial/c/fluvial.h"

int fluvial_object_get_vara_float(fluvial_object_io* io, MPI_Op op, float* result) {
    return fluvial_object_get_vara(io, op, result, MPI_FLOAT);
}
int fluvial_object_get_vara_double(fluvial_object_io* io, MPI_Op op, double* result) {
    return fluvial_object_get_vara(io, op, result, MPI_DOUBLE);
}
int fluvial_object_get_vara_schar(fluvial_object_io* io, MPI_Op op, signed char* result) {
    return fluvial_object_get_vara(io, op, result, MPI_SIGNED_CHAR);
}
int fluvial_object_get_vara_uchar(fluvial_object_io* io, MPI_Op op, unsigned char* result) {
    return fluvial_object_get_vara(io, op, result, MPI_UNSIGNED_CHAR);
}
int fluvial_object_get_vara_short(fluvial_object_io* io, MPI_Op op, short* result) {
    return fluvial_object_get_vara(io, op, result, MPI_SHORT);
}
int fluvial_object_get_vara_ushort(fluvial_object_io* io, MPI_Op op, unsigned short* result) {
    return fluvial_object_get_vara(io, op, result, MPI_UNSIGNED_SHORT);
}
int fluvial_object_get_vara_int(fluvial_object_io* io, MPI_Op op, int* result) {
    return fluvial_object_get_vara(io, op, result, MPI_INT);
}
int fluvial_object_get_vara_uint(fluvial_object_io* io, MPI_Op op, unsigned int* result) {
    return fluvial_object_get_vara(io, op, result, MPI_UNSIGNED);
}
int fluvial_object_get_vara_longlong(fluvial_object_io* io, MPI_Op op, long long* result) {
    return fluvial_object_get_vara(io, op, result, MPI_LONG_LONG);
}
int fluvial_object_get_vara_ulonglong(fluvial_object_io* io, MPI_Op op,
                                      unsigned long long* result) {
    return fluvial_object_get_vara(io, op, result, MPI_UNSIGNED_LONG_LONG);
}
