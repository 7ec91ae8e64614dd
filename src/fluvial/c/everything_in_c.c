/* SPDX-License-Identifier: Apache-2.0 */
/* The header as a C99 compiler sees it: every inquiry, and one object I/O. Returns what is wrong.
 */
#include <string.h>

#include "fluvial/c/fluvial.h"

#define EXPECT(condition)      \
    do {                       \
        if (!(condition)) {    \
            return #condition; \
        }                      \
    } while (0)

static const char* inquire(fluvial_file* file) {
    int n = 0, id = -1, ndims = 0;
    MPI_Offset shape[FLUVIAL_MAX_DIMS];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    char text[32];
    double number = 0;
    EXPECT(fluvial_inq_ndatasets(file, &n) == FLUVIAL_OK && n == 11);
    EXPECT(fluvial_inq_dataset(file, "float", &id) == FLUVIAL_OK && id == 3);
    EXPECT(fluvial_inq_name(file, id, sizeof text, text) == FLUVIAL_OK);
    EXPECT(strcmp(text, "float") == 0);
    EXPECT(fluvial_inq_name(file, id, 2, text) == FLUVIAL_EINVAL);
    EXPECT(fluvial_inq_ndims(file, id, &ndims) == FLUVIAL_OK && ndims == 3);
    EXPECT(fluvial_inq_shape(file, id, shape) == FLUVIAL_OK);
    EXPECT(shape[0] == 12 && shape[1] == 5 && shape[2] == 7);
    EXPECT(fluvial_inq_dimname(file, id, 2, sizeof text, text) == FLUVIAL_OK);
    EXPECT(strcmp(text, "x") == 0);
    EXPECT(fluvial_inq_dimname(file, id, 3, sizeof text, text) == FLUVIAL_EINVAL);
    EXPECT(fluvial_inq_type(file, id, &type) == FLUVIAL_OK && type == MPI_FLOAT);
    EXPECT(fluvial_get_att_text(file, FLUVIAL_GLOBAL, "title", sizeof text, text) == FLUVIAL_OK);
    EXPECT(strcmp(text, "known elements") == 0);
    EXPECT(fluvial_get_att_text(file, FLUVIAL_GLOBAL, "none", sizeof text, text) == FLUVIAL_EINVAL);
    EXPECT(fluvial_get_att_double(file, 10, "scale_factor", 1, &number) == FLUVIAL_OK);
    EXPECT(number == 0.5);
    EXPECT(fluvial_get_att_double(file, 10, "scale_factor", 2, &number) == FLUVIAL_EINVAL);
    EXPECT(fluvial_get_att_text(file, 10, "scale_factor", sizeof text, text) == FLUVIAL_EINVAL);
    EXPECT(fluvial_inq_dataset(file, "v99", &id) == FLUVIAL_EINVAL);
    EXPECT(strstr(fluvial_last_message(), "v99") != NULL);
    EXPECT(strlen(fluvial_strerror(FLUVIAL_EINVAL)) > 0);
    return NULL;
}

const char* use_everything_in_c(MPI_Comm comm, const char* path);

const char* use_everything_in_c(MPI_Comm comm, const char* path) {
    fluvial_file* file = NULL;
    fluvial_object_io io;
    const char* wrong = NULL;
    double mean = -1, count = 0;
    int rank = 0, ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    EXPECT(fluvial_open(comm, path, MPI_INFO_NULL, &file) == FLUVIAL_OK);
    wrong = inquire(file);
    EXPECT(fluvial_object_io_init(&io, file, "float") == FLUVIAL_OK);
    io.count[0] = io.count[0] / ranks;
    io.start[0] = io.count[0] * rank;
    io.block = 0;
    EXPECT(fluvial_object_get(&io, "mean", 1, &mean) == FLUVIAL_OK);
    EXPECT(fluvial_wait(&io) == FLUVIAL_OK);
    EXPECT(mean > 0 && mean < 101);
    io.block = 1;
    EXPECT(fluvial_object_get(&io, "count", 1, &count) == FLUVIAL_OK);
    EXPECT(count == 12 * 5 * 7);
    EXPECT(fluvial_close(file) == FLUVIAL_OK);
    return wrong;
}
