// SPDX-License-Identifier: Apache-2.0
/// Series from C99: steps of arrays that one program writes and another reads, as a stream between
/// jobs that run at the same time, or in files. The name decides, so that a job script can switch.
///
/// The program that writes, where each rank has some rows of a plate:
///
///     fluvial_writer* plate;
///     fluvial_writer_open(MPI_COMM_WORLD, "plate", MPI_INFO_NULL, &plate);   // or "plate.h5"
///     for (int i = 0; i < 10; ++i) {
///         const MPI_Offset offset[] = {first, 0}, count[] = {rows, 64}, shape[] = {120, 64};
///         fluvial_writer_begin_step(plate, 0.5 * i, FLUVIAL_NEXT, NULL);
///         fluvial_writer_put(plate, "meshes/T", MPI_DOUBLE, 2, offset, count, shape, t);
///         fluvial_writer_end_step(plate);
///     }
///     fluvial_writer_close(plate);
///
/// The program that reads, on any number of ranks:
///
///     fluvial_reader* plate;
///     int more;
///     fluvial_reader_open(MPI_COMM_WORLD, "plate", MPI_INFO_NULL, &plate);
///     while (fluvial_reader_next(plate, &more) == FLUVIAL_OK && more) {
///         fluvial_reader_get(plate, "meshes/T", MPI_DOUBLE, offset, count, t);
///         fluvial_reader_reduce(plate, "meshes/T", "mean", 1, &mean);
///     }
///     fluvial_reader_close(plate);
///
/// Functions return codes as those of fluvial.h do, and fluvial_last_message() says what went
/// wrong. What is collective agrees first: an error on one rank is an error on all of them; but a
/// null pointer in place of a writer or reader on some ranks only is an error on these alone. One
/// thread at a time uses a writer or reader. Options are those of Python's fluvial.open(), by the
/// same names, in an MPI_Info: times in seconds, bytes as numbers or with a unit ("2 GiB"),
/// `retain` a folder, or "true" for that of the contact file. One that there is not is
/// FLUVIAL_EINVAL. What is not said there, or as it is by default, the job script may say: in the
/// file that FLUVIAL_OPTIONS names, or the option `options`.
#pragma once

#include "fluvial/c/fluvial.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The writing end of a series.
typedef struct fluvial_writer fluvial_writer;
/// The reading end.
typedef struct fluvial_reader fluvial_reader;

/// What attributes belong to.
enum {
    FLUVIAL_SERIES = 0,  ///< the whole series; its path is null
    FLUVIAL_STEP = 1,    ///< one step; its path is null
    FLUVIAL_GROUP = 2,   ///< a group of datasets, such as "meshes" or "particles/e", or "meshes/E"
    FLUVIAL_DATASET = 3  ///< a dataset by its name
};

/// In place of an iteration: one more than the last.
#define FLUVIAL_NEXT (-1)

/// Opens a series for writing: a stream where the name is bare, and files where it has the suffix
/// of a format (.h5: openPMD 1.1; .nc: CDF-5; .nc4: netCDF-4), a "/" or a "%" ("data%T.h5": a file
/// for each step). A stream waits for its reader jobs. Options: `engine`; of a stream
/// `queue_steps`, `reserve`, `queue_bytes`, `full`, `spill`, `spill_bytes`, `retain`, `steps_to`,
/// `readers`, `directory`, `rendezvous_timeout`, `on_stalled_reader`, `network`, `ports`,
/// `encrypt`; of files `compression` ("gzip", "gzip:9"), `aggregators`; of both `step_timeout`,
/// `stall_timeout`, `options`. The communicator is not kept. Collective,
/// blocking. MPI must be initialised.
int fluvial_writer_open(MPI_Comm comm, const char* name, MPI_Info options, fluvial_writer** writer);

/// Attributes, which stay as they are until they are said anew. Those of the series are said before
/// the first step begins; those of a step and of groups before it begins, those of a step for that
/// one alone; those of a dataset before the dataset is put. Alike on all ranks. Local.
int fluvial_writer_put_att_text(fluvial_writer* writer, int of, const char* path, const char* name,
                                const char* value);
int fluvial_writer_put_att_double(fluvial_writer* writer, int of, const char* path,
                                  const char* name, size_t count, const double* values);
int fluvial_writer_put_att_longlong(fluvial_writer* writer, int of, const char* path,
                                    const char* name, size_t count, const long long* values);

/// Begins a step, at that time of the simulation (NaN: none is said). `iteration` is its number for
/// readers, with FLUVIAL_NEXT one above the last (FLUVIAL_EINVAL where that was LLONG_MAX); in
/// files it must be above the last one. Of a stream it waits as the policy of a full queue (`full`)
/// says. `accepted` may be null: it is 0 where that policy has discarded the step, whose puts then
/// have no effect. Local.
int fluvial_writer_begin_step(fluvial_writer* writer, double time, long long iteration,
                              int* accepted);
/// Copies this rank's part, `count` elements along each of `ndims` axes at `offset`, row-major, of
/// a dataset with that global `shape`. `type` is a predefined MPI type of numbers. Local.
int fluvial_writer_put(fluvial_writer* writer, const char* dataset, MPI_Datatype type, int ndims,
                       const MPI_Offset* offset, const MPI_Offset* count, const MPI_Offset* shape,
                       const void* data);
/// The memory where such a part is kept, to be filled before the step ends: nothing is copied.
/// Local.
int fluvial_writer_span(fluvial_writer* writer, const char* dataset, MPI_Datatype type, int ndims,
                        const MPI_Offset* offset, const MPI_Offset* count, const MPI_Offset* shape,
                        void** data);
/// Offers the step to readers, local; or writes it into the file, collective. The step is over
/// after an error, too, but for FLUVIAL_ETIMEOUT of a stream whose disk has stayed full: end it
/// again, or give it up.
int fluvial_writer_end_step(fluvial_writer* writer);
/// Gives the step up, on all ranks. Of files collective.
int fluvial_writer_abandon_step(fluvial_writer* writer);
/// Ends the series. FLUVIAL_EINVAL, and it stays open, while a step is open; after any other error
/// it is closed. Local of a stream, but it waits for readers on other hosts; collective of files,
/// and FLUVIAL_EINVAL after MPI_Finalize. Null is no error.
int fluvial_writer_close(fluvial_writer* writer);
/// Ends the series with an error: the readers of a stream are told that its writer has failed, and
/// so are programs that follow files; these have the steps that ended. Local of a stream; of files
/// not after MPI_Finalize. Null is no error.
int fluvial_writer_abort(fluvial_writer* writer);

/// Opens a series for reading: files where there are some of that name, or where it has the suffix
/// of a format, a "/" or a "%"; else a stream, whose writer is waited for, or is at
/// "fluvial://HOST:PORT/NAME" and has the same key in the file of FLUVIAL_KEY. All ranks are one
/// reader and get the same steps. Options: `engine`; of a stream `start`, `full`, `resume`,
/// `retained`, `directory`, `transport`, `interfaces`, `fetch`, `contact`; of files `follow`
/// ("true": they are still being written), `until`; of both `rendezvous_timeout`, `step_timeout`,
/// `stall_timeout`, `options`. The communicator is duplicated. Collective, blocking. MPI must be
/// initialised.
int fluvial_reader_open(MPI_Comm comm, const char* name, MPI_Info options, fluvial_reader** reader);

/// Ends the step before and goes to the next one, which a stream waits for. `more` becomes 0 at the
/// end of the series, else 1. Collective where files are followed, else local.
int fluvial_reader_next(fluvial_reader* reader, int* more);

/// What follows asks about the present step; FLUVIAL_EINVAL before the first and after the last.
/// Its number: the iteration, the record, or that in the file's name. Local, as all inquiries.
int fluvial_reader_inq_iteration(fluvial_reader* reader, long long* iteration);
/// Its time, as its attribute `time` says, or in netCDF the variable of that name; FLUVIAL_EINVAL
/// where it says none.
int fluvial_reader_inq_time(fluvial_reader* reader, double* time);
int fluvial_reader_inq_ndatasets(fluvial_reader* reader, int* ndatasets);
/// Datasets count from 0. `name` has room for `size` characters, the last of which is '\0'.
int fluvial_reader_inq_name(fluvial_reader* reader, int dataset, size_t size, char* name);
int fluvial_reader_inq_ndims(fluvial_reader* reader, const char* dataset, int* ndims);
/// Lengths of the axes; `shape` has room for all of them. A step that is a record of a netCDF file
/// has its datasets without the axis of time.
int fluvial_reader_inq_shape(fluvial_reader* reader, const char* dataset, MPI_Offset* shape);
/// MPI_FLOAT, MPI_SHORT and so on. FLUVIAL_EINVAL for float16, which C does not have.
int fluvial_reader_inq_type(fluvial_reader* reader, const char* dataset, MPI_Datatype* type);
/// Attributes of FLUVIAL_SERIES, FLUVIAL_STEP, FLUVIAL_GROUP or FLUVIAL_DATASET: text, or `count`
/// numbers, which the type must hold exactly (FLUVIAL_ERANGE).
int fluvial_reader_get_att_text(fluvial_reader* reader, int of, const char* path, const char* name,
                                size_t size, char* value);
int fluvial_reader_get_att_double(fluvial_reader* reader, int of, const char* path,
                                  const char* name, size_t count, double* values);
int fluvial_reader_get_att_longlong(fluvial_reader* reader, int of, const char* path,
                                    const char* name, size_t count, long long* values);

/// Reads `count` elements along each axis from `start` on, stored values, row-major, as elements of
/// `type`. An integer takes only a number that it can hold, FLUVIAL_ERANGE otherwise; MPI_FLOAT and
/// MPI_DOUBLE round to the nearest, as a cast does, FLUVIAL_ERANGE when a finite number would be
/// infinite. Null pointers in place of both: all of the dataset. Local, blocking.
int fluvial_reader_get(fluvial_reader* reader, const char* dataset, MPI_Datatype type,
                       const MPI_Offset* start, const MPI_Offset* count, void* data);
/// One of Fluvial's operators over all of a dataset, as fluvial_object_get() takes them: "mean",
/// "histogram edges=0,10,20". Each rank reads a part; `result` has room for `size` numbers, and all
/// ranks get it. Missing values of a file do not count, and packed ones are scaled. Where a rank
/// dies, or is stopped for longer than `stall_timeout` (at least 2 s), FLUVIAL_EPEER. Collective,
/// blocking.
int fluvial_reader_reduce(fluvial_reader* reader, const char* dataset, const char* op, size_t size,
                          double* result);
/// The smallest or largest element and where it is: "argmin" or "argmax", the first one of several.
/// `location` has room for an index along each axis of the dataset. On all ranks; of nothing, or
/// missing values alone, NaN and -1 where the elements are floating. Errors are those of
/// fluvial_reader_reduce(). Collective, blocking.
int fluvial_reader_find(fluvial_reader* reader, const char* dataset, const char* op, double* value,
                        MPI_Offset* location);
/// Leaves the series; the writer of a stream goes on. Collective. After MPI_Finalize local. Null is
/// no error.
int fluvial_reader_close(fluvial_reader* reader);

#ifdef __cplusplus
}
#endif
