/* SPDX-License-Identifier: Apache-2.0 */
/* The header of series as a C99 compiler sees it: one that is written, and one that is read. They
   return what is wrong. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fluvial/c/series.h"

#define EXPECT(condition)                                                                \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            snprintf(wrong, sizeof wrong, "%s: %s", #condition, fluvial_last_message()); \
            return wrong;                                                                \
        }                                                                                \
    } while (0)
#define GOOD(call) EXPECT((call) == FLUVIAL_OK)

enum { steps = 4, rows_each = 3, columns = 5 };

static char wrong[500];

/* `reader` may be null; else it is opened before the writer is closed, as a stream needs it. */
const char* write_series_in_c(MPI_Comm comm, const char* name, MPI_Info options, MPI_Info reading,
                              fluvial_reader** reader);
const char* read_series_in_c(fluvial_reader* reader, int rows);

static const char* write_step(fluvial_writer* writer, int step, int rank, int ranks) {
    const MPI_Offset offset[] = {rank * rows_each, 0}, count[] = {rows_each, columns};
    const MPI_Offset shape[] = {(MPI_Offset)ranks * rows_each, columns};
    double t[rows_each * columns];
    void* place = NULL;
    int accepted = -1, i;
    const double spacing[] = {0.5, 0.25};
    if (step == 0) {
        GOOD(fluvial_writer_put_att_double(writer, FLUVIAL_GROUP, "meshes/T", "gridSpacing", 2,
                                           spacing));
        GOOD(fluvial_writer_put_att_text(writer, FLUVIAL_DATASET, "meshes/n", "units", "1"));
        GOOD(fluvial_writer_put_att_text(writer, FLUVIAL_GROUP, "meshes", "about", "a plate"));
    }
    GOOD(fluvial_writer_begin_step(writer, 0.5 * step, FLUVIAL_NEXT, &accepted));
    EXPECT(accepted == 1);
    EXPECT(fluvial_writer_begin_step(writer, 0, FLUVIAL_NEXT, NULL) == FLUVIAL_EINVAL);
    for (i = 0; i < rows_each * columns; ++i) {
        t[i] = 100.0 * step + rank * rows_each * columns + i;
    }
    GOOD(fluvial_writer_put(writer, "meshes/T", MPI_DOUBLE, 2, offset, count, shape, t));
    EXPECT(fluvial_writer_put(writer, "meshes/T", MPI_DOUBLE, 2, shape, count, shape, t) ==
           FLUVIAL_EINVAL);
    EXPECT(strstr(fluvial_last_message(), "meshes/T") != NULL);
    GOOD(fluvial_writer_span(writer, "meshes/n", MPI_INT, 1, offset, count, shape, &place));
    for (i = 0; i < rows_each; ++i) {
        ((int*)place)[i] = step;
    }
    EXPECT(fluvial_writer_close(writer) == FLUVIAL_EINVAL);
    GOOD(fluvial_writer_end_step(writer));
    EXPECT(fluvial_writer_end_step(writer) == FLUVIAL_EINVAL);
    return NULL;
}

const char* write_series_in_c(MPI_Comm comm, const char* name, MPI_Info options, MPI_Info reading,
                              fluvial_reader** reader) {
    fluvial_writer* writer = NULL;
    int rank = 0, ranks = 1, step;
    const long long version = 3;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    GOOD(fluvial_writer_open(comm, name, options, &writer));
    GOOD(fluvial_writer_put_att_text(writer, FLUVIAL_SERIES, NULL, "author", "a program in C"));
    GOOD(fluvial_writer_put_att_longlong(writer, FLUVIAL_SERIES, NULL, "version", 1, &version));
    for (step = 0; step < steps; ++step) {
        const char* said = write_step(writer, step, rank, ranks);
        if (said != NULL) {
            return said;
        }
    }
    if (reader != NULL) {
        GOOD(fluvial_reader_open(comm, name, reading, reader));
    }
    GOOD(fluvial_writer_close(writer));
    return NULL;
}

static const char* inquire(fluvial_reader* reader, int step, int rows) {
    long long iteration = -1;
    double time = -1;
    int n = 0, ndims = 0, i, seen = 0;
    MPI_Offset shape[FLUVIAL_MAX_DIMS];
    MPI_Datatype type = MPI_DATATYPE_NULL;
    char text[32];
    double spacing[2];
    GOOD(fluvial_reader_inq_iteration(reader, &iteration));
    EXPECT(iteration == step);
    GOOD(fluvial_reader_inq_time(reader, &time));
    EXPECT(time == 0.5 * step);
    GOOD(fluvial_reader_inq_ndatasets(reader, &n));
    for (i = 0; i < n; ++i) {
        GOOD(fluvial_reader_inq_name(reader, i, sizeof text, text));
        seen += strcmp(text, "meshes/T") == 0 || strcmp(text, "meshes/n") == 0;
    }
    EXPECT(seen == 2);
    EXPECT(fluvial_reader_inq_name(reader, n, sizeof text, text) == FLUVIAL_EINVAL);
    GOOD(fluvial_reader_inq_ndims(reader, "meshes/T", &ndims));
    EXPECT(ndims == 2);
    GOOD(fluvial_reader_inq_shape(reader, "meshes/T", shape));
    EXPECT(shape[0] == rows && shape[1] == columns);
    GOOD(fluvial_reader_inq_type(reader, "meshes/n", &type));
    EXPECT(type == MPI_INT);
    GOOD(fluvial_reader_get_att_text(reader, FLUVIAL_SERIES, NULL, "author", sizeof text, text));
    EXPECT(strcmp(text, "a program in C") == 0);
    GOOD(fluvial_reader_get_att_double(reader, FLUVIAL_SERIES, NULL, "version", 1, &time));
    EXPECT(time == 3);
    GOOD(fluvial_reader_get_att_text(reader, FLUVIAL_DATASET, "meshes/n", "units", sizeof text,
                                     text));
    EXPECT(strcmp(text, "1") == 0);
    GOOD(fluvial_reader_get_att_double(reader, FLUVIAL_GROUP, "meshes/T", "gridSpacing", 2,
                                       spacing));
    EXPECT(spacing[0] == 0.5 && spacing[1] == 0.25);
    GOOD(fluvial_reader_get_att_text(reader, FLUVIAL_GROUP, "meshes", "about", sizeof text, text));
    EXPECT(strcmp(text, "a plate") == 0);
    EXPECT(fluvial_reader_get_att_text(reader, FLUVIAL_GROUP, "meshe", "about", sizeof text,
                                       text) == FLUVIAL_EINVAL);
    EXPECT(fluvial_reader_get_att_text(reader, FLUVIAL_GROUP, NULL, "about", sizeof text, text) ==
           FLUVIAL_EINVAL);
    EXPECT(fluvial_reader_inq_ndims(reader, "meshes/V", &ndims) == FLUVIAL_EINVAL);
    EXPECT(strstr(fluvial_last_message(), "meshes/T") != NULL);
    return NULL;
}

static const char* read_step(fluvial_reader* reader, int step, int rows) {
    const MPI_Offset start[] = {1, 2}, count[] = {2, 3};
    double part[6], mean = 0, counts[2] = {0, 0};
    float all[3 * rows_each * columns];
    MPI_Offset place[2] = {-1, -1};
    signed char small;
    const char* said = inquire(reader, step, rows);
    int i;
    if (said != NULL) {
        return said;
    }
    GOOD(fluvial_reader_get(reader, "meshes/T", MPI_DOUBLE, start, count, part));
    for (i = 0; i < 6; ++i) {
        EXPECT(part[i] == 100.0 * step + (1 + i / 3) * columns + 2 + i % 3);
    }
    GOOD(fluvial_reader_get(reader, "meshes/T", MPI_FLOAT, NULL, NULL, all));
    for (i = 0; i < rows * columns; ++i) {
        EXPECT(all[i] == 100.0f * (float)step + (float)i);
    }
    if (step == 3) {
        EXPECT(fluvial_reader_get(reader, "meshes/T", MPI_SIGNED_CHAR, start, start, &small) ==
               FLUVIAL_ERANGE);
    }
    EXPECT(fluvial_reader_get(reader, "meshes/T", MPI_DOUBLE, NULL, count, part) == FLUVIAL_EINVAL);
    GOOD(fluvial_reader_reduce(reader, "meshes/T", "mean", 1, &mean));
    EXPECT(fabs(mean - (100.0 * step + (rows * columns - 1) / 2.0)) < 1e-9);
    GOOD(fluvial_reader_reduce(reader, "meshes/n", "histogram edges=0,2,10", 2, counts));
    EXPECT(counts[0] == (step < 2 ? rows : 0) && counts[1] == (step < 2 ? 0 : rows));
    EXPECT(fluvial_reader_reduce(reader, "meshes/n", "histogram edges=0,2,10", 1, counts) ==
           FLUVIAL_EINVAL);
    EXPECT(fluvial_reader_reduce(reader, "meshes/n", "mean", 1, NULL) == FLUVIAL_EINVAL);
    GOOD(fluvial_reader_find(reader, "meshes/T", "argmax", &mean, place));
    EXPECT(mean == 100.0 * step + rows * columns - 1);
    EXPECT(place[0] == rows - 1 && place[1] == columns - 1);
    GOOD(fluvial_reader_find(reader, "meshes/n", "argmin", &mean, place));
    EXPECT(mean == step && place[0] == 0);
    EXPECT(fluvial_reader_find(reader, "meshes/n", "mean", &mean, place) == FLUVIAL_EINVAL);
    EXPECT(strstr(fluvial_last_message(), "argmin, argmax") != NULL);
    EXPECT(fluvial_reader_find(reader, "meshes/n", "argmin", &mean, NULL) == FLUVIAL_EINVAL);
    return NULL;
}

const char* read_series_in_c(fluvial_reader* reader, int rows) {
    int more = 0, step = 0;
    long long iteration = 0;
    EXPECT(fluvial_reader_inq_iteration(reader, &iteration) == FLUVIAL_EINVAL);
    for (;; ++step) {
        const char* said;
        GOOD(fluvial_reader_next(reader, &more));
        if (!more) {
            break;
        }
        said = read_step(reader, step, rows);
        if (said != NULL) {
            return said;
        }
    }
    EXPECT(step == steps);
    EXPECT(fluvial_reader_inq_iteration(reader, &iteration) == FLUVIAL_EINVAL);
    GOOD(fluvial_reader_close(reader));
    return NULL;
}
