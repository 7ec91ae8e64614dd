// SPDX-License-Identifier: Apache-2.0
/// Fluvial from C99: reductions that run inside the read, as an object I/O.
///
/// An object I/O says what is read (dataset, start, count, stride), how (collective or independent,
/// blocking or not) and, in the call that starts it, what is computed: an MPI_Op. Every piece of
/// the file is reduced where and when it arrives; only small partial results travel between ranks.
/// Source: "Collective Computing for Scientific Big Data Analysis", Figure 6.
///
///     fluvial_file* file;
///     fluvial_object_io io;
///     float sum;
///     fluvial_open(MPI_COMM_WORLD, "t.nc", MPI_INFO_NULL, &file);
///     fluvial_object_io_init(&io, file, "temperature");      // all of it
///     io.start[0] = io.count[0] / nprocs * rank;             // a part for each rank
///     io.count[0] = io.count[0] / nprocs;
///     fluvial_object_get_vara_float(&io, MPI_SUM, &sum);     // of all parts, on all ranks
///     fluvial_close(file);
///
/// Every function returns FLUVIAL_OK or a negative FLUVIAL_E code; fluvial_last_message() then says
/// what went wrong, the value seen, what is allowed and what to try. Nothing aborts, exits or
/// throws. Collective functions agree first: an error on one rank is an error on all of them. All
/// the same a null pointer in place of `io` or `file` on some ranks only is an error on these
/// alone.
#pragma once

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLUVIAL_MAX_DIMS 16     ///< axes of a dataset
#define FLUVIAL_MAX_DATASETS 4  ///< datasets that one object I/O combines

/// What functions return.
enum {
    FLUVIAL_OK = 0,
    FLUVIAL_EINVAL = -1,    ///< a value that the call cannot accept
    FLUVIAL_EFILE = -2,     ///< a file whose bytes are not what its format says
    FLUVIAL_ESYSTEM = -3,   ///< the operating system or MPI refused a call
    FLUVIAL_ERANGE = -4,    ///< the result does not fit the type asked for
    FLUVIAL_ETIMEOUT = -5,  ///< a deadline passed
    FLUVIAL_ENOMEM = -6,    ///< no memory
    FLUVIAL_EOTHER = -7,    ///< anything else
    FLUVIAL_EPEER = -8      ///< another process has died, is stopped, or has failed
};

/// fluvial_object_io.mode
enum {
    FLUVIAL_COLLECTIVE = 0,  ///< all ranks of the file's communicator read together, each byte once
    FLUVIAL_INDEPENDENT = 1  ///< this rank alone; its result is its own, and nothing is sent
};

/// fluvial_object_io.shuffle, of collective calls
enum {
    FLUVIAL_TO_ONE = 0,  ///< the regions of all ranks are parts of one reduction
    FLUVIAL_TO_ALL = 1,  ///< each rank has the result of its own region
    FLUVIAL_COMMON = 2   ///< all ranks ask for the same region, and have its result
};

/// fluvial_object_io.root: the result is wanted on every rank
#define FLUVIAL_EVERYWHERE (-1)
/// In place of a dataset: the file itself, whose attributes are meant.
#define FLUVIAL_GLOBAL (-1)

/// A file that is open.
typedef struct fluvial_file fluvial_file;
/// An object I/O under way.
typedef struct fluvial_pending fluvial_pending;

/// A function of several datasets, element by element: out[i] is made of in[0][i], in[1][i], … for
/// i < n. Called by several threads at once.
typedef void (*fluvial_map)(const double* const* in, double* out, size_t n, void* context);

/// What is read, and how. fluvial_object_io_init() fills it in; change what you want changed, then
/// start it as often as you like. While it is under way it must stay where it is.
typedef struct fluvial_object_io {
    fluvial_file* file;
    int datasets[FLUVIAL_MAX_DATASETS];  ///< numbers in the file; equal shapes
    int ndatasets;                       ///< 1, or as many as `map` combines
    /// Elements start + i * stride for i < count, along each axis. Of init: everything.
    MPI_Offset start[FLUVIAL_MAX_DIMS];
    MPI_Offset count[FLUVIAL_MAX_DIMS];   ///< may be 0: no elements from this rank
    MPI_Offset stride[FLUVIAL_MAX_DIMS];  ///< 1 or more; only 1 with FLUVIAL_TO_ONE
    /// 1 along axes that are not reduced: results are then arrays, row-major, with `count` entries
    /// along each kept axis. All ranks of FLUVIAL_TO_ONE need the same start and count along these.
    int keep[FLUVIAL_MAX_DIMS];
    int mode;     ///< FLUVIAL_COLLECTIVE (of init) or FLUVIAL_INDEPENDENT
    int block;    ///< 1 (of init): a call returns with the result; 0: fluvial_wait() brings it
    int shuffle;  ///< FLUVIAL_TO_ONE (of init), FLUVIAL_TO_ALL or FLUVIAL_COMMON
    int root;     ///< the one rank that wants the result of TO_ONE or COMMON, or FLUVIAL_EVERYWHERE
    int cf;       ///< 1: missing values are left out and packed ones scaled, as the CF conventions
             ///< say (fluvial_last_warnings() tells what could not be used); 0 (of init): stored
             ///< values as they are
    fluvial_map map;    ///< applied before the operator; null (of init): none
    void* map_context;  ///< its last argument
    /// Null (of init), or a name and version of the program's own `map` and MPI_Op, such as
    /// "wind speed 2": FLUVIAL_EINVAL on all ranks when ranks say different ones. Functions cannot
    /// be compared.
    const char* functions;
    /// With MPI_MINLOC, MPI_MAXLOC, "argmin", "argmax": where results are in the dataset, one
    /// coordinate an axis, for each entry of the result. Null (of init): not wanted.
    MPI_Offset* location;
    MPI_Offset bytes_read;     ///< out: from the file, by this rank
    MPI_Offset bytes_sent;     ///< out: partial results of this rank
    fluvial_pending* pending;  ///< Fluvial's own
} fluvial_object_io;

/// The meaning of a code, in a few words. Local.
const char* fluvial_strerror(int code);
/// What went wrong in the last call of this thread that failed; "" before any did. Valid until the
/// next one that fails. Local.
const char* fluvial_last_message(void);
/// What the last call of this thread that started an object I/O with io->cf made no use of, a line
/// each: attributes that make no sense, such as a _FillValue that the type cannot hold. "" when
/// there is nothing of the kind. Local.
const char* fluvial_last_warnings(void);

/// Opens a file of any format that Fluvial reads: netCDF classic, netCDF-4, HDF5, Zarr. Hints:
/// `cb_nodes` (how many ranks read; all, unless given), `cb_buffer_size` (bytes of a read),
/// `fluvial_threads` (threads of a rank; its cores, unless given), `fluvial_memory` (bytes of a
/// rank beside results, 64 MiB unless given: where chunks are large, fewer threads work at once),
/// `fluvial_reproducible` ("true": results are the same to the bit in every run with the same
/// numbers of ranks and threads, which takes longer where cores are not equally fast); others are
/// passed over. The communicator is duplicated. Collective, blocking. MPI must be
/// initialised.
int fluvial_open(MPI_Comm comm, const char* path, MPI_Info info, fluvial_file** file);
/// Collective, blocking. FLUVIAL_EINVAL, and the file stays open, while an object I/O on it is
/// under way on any rank. Where a rank has died or is stopped, an error that names it, and the file
/// is closed. After MPI_Finalize local. Null is no error.
int fluvial_close(fluvial_file* file);

/// The number of datasets, those among them that cannot be opened; they count from 0, in the file's
/// order. Local, as all inquiries.
int fluvial_inq_ndatasets(fluvial_file* file, int* ndatasets);
/// The number of a dataset by its name.
int fluvial_inq_dataset(fluvial_file* file, const char* name, int* dataset);
/// `name` has room for `size` characters, the last of which is '\0'.
int fluvial_inq_name(fluvial_file* file, int dataset, size_t size, char* name);
int fluvial_inq_ndims(fluvial_file* file, int dataset, int* ndims);
/// Lengths of the axes; `shape` has room for all of them.
int fluvial_inq_shape(fluvial_file* file, int dataset, MPI_Offset* shape);
/// The name of an axis; "" when it has none.
int fluvial_inq_dimname(fluvial_file* file, int dataset, int axis, size_t size, char* name);
/// MPI_FLOAT, MPI_SHORT and so on. FLUVIAL_EINVAL for float16, which C does not have.
int fluvial_inq_type(fluvial_file* file, int dataset, MPI_Datatype* type);
/// An attribute of a dataset, or of FLUVIAL_GLOBAL, that is text.
int fluvial_get_att_text(fluvial_file* file, int dataset, const char* name, size_t size,
                         char* value);
/// A numeric attribute; it must have `count` values.
int fluvial_get_att_double(fluvial_file* file, int dataset, const char* name, size_t count,
                           double* values);

/// All of a dataset, collective, blocking, FLUVIAL_TO_ONE with the result everywhere. Local.
int fluvial_object_io_init(fluvial_object_io* io, fluvial_file* file, const char* dataset);
/// Adds a dataset of the same shape, for `io->map` to combine. Local. After an error `io` cannot be
/// started, on any rank, until it is made anew.
int fluvial_object_io_add(fluvial_object_io* io, const char* dataset);

/// Reads and reduces. `result` has one entry, or one for each kept position, and is written where
/// the result is wanted (it may be null elsewhere): before the call returns, or when fluvial_wait()
/// does if io->block is 0; a result that cannot be told is an error and leaves it as it was.
///
/// MPI_SUM and MPI_PROD accumulate in double (integers: in 64 bits, modulo 2^64), MPI_MIN, MPI_MAX,
/// MPI_MINLOC and MPI_MAXLOC in the dataset's type; the end result is converted to `type`:
/// FLUVIAL_ERANGE when it does not fit; floating-point types round it. All other operations,
/// logical, bitwise and those of MPI_Op_create, see elements that are already converted to `type`
/// (FLUVIAL_ERANGE when one does not fit); they must commute.
/// Of no elements MPI_SUM is 0, MPI_PROD 1, a floating-point extremum NaN; the others fail.
///
/// MPI_SUM, MPI_PROD and extrema run at any thread level of MPI, on threads of Fluvial's own.
/// Other operations are called through MPI_Reduce_local: by these threads, several at once, under
/// MPI_THREAD_MULTIPLE; below that by the thread that calls, inside this function, fluvial_test()
/// (a few MiB a call) and fluvial_wait(), and by no other.
/// An operation must not be freed before fluvial_wait() has returned.
///
/// Collective over the file's communicator unless io->mode is FLUVIAL_INDEPENDENT; datasets, mode,
/// shuffle, root, operator and type must be those of all ranks (FLUVIAL_EINVAL on all otherwise; a
/// different mode cannot be noticed). Several object I/Os may be under way;
/// all ranks start them, and wait for them, in the same order.
int fluvial_object_get_vara(fluvial_object_io* io, MPI_Op op, void* result, MPI_Datatype type);
int fluvial_object_get_vara_float(fluvial_object_io* io, MPI_Op op, float* result);
int fluvial_object_get_vara_double(fluvial_object_io* io, MPI_Op op, double* result);
int fluvial_object_get_vara_schar(fluvial_object_io* io, MPI_Op op, signed char* result);
int fluvial_object_get_vara_uchar(fluvial_object_io* io, MPI_Op op, unsigned char* result);
int fluvial_object_get_vara_short(fluvial_object_io* io, MPI_Op op, short* result);
int fluvial_object_get_vara_ushort(fluvial_object_io* io, MPI_Op op, unsigned short* result);
int fluvial_object_get_vara_int(fluvial_object_io* io, MPI_Op op, int* result);
int fluvial_object_get_vara_uint(fluvial_object_io* io, MPI_Op op, unsigned int* result);
int fluvial_object_get_vara_longlong(fluvial_object_io* io, MPI_Op op, long long* result);
int fluvial_object_get_vara_ulonglong(fluvial_object_io* io, MPI_Op op, unsigned long long* result);

/// The same with one of Fluvial's operators, by its name and options: "mean", "std ddof=1",
/// "histogram edges=0,10,20", "quantile q=0.5,0.9 skipna=true". `result` has room for `size`
/// numbers, which must be what the operator gives: for most, one for each kept position. NaN
/// propagates unless skipna=true is said, here and with an MPI_Op, which is where C differs from
/// the other faces of the library; missing values of the file never count. No operator calls MPI:
/// all of them run at any thread level.
int fluvial_object_get(fluvial_object_io* io, const char* op, size_t size, double* result);

/// Sets `done` to 1 when all ranks have read and computed everything, so that fluvial_wait() has
/// only partial results to exchange; to 1, too, when nothing is under way. Local; does not block.
int fluvial_test(fluvial_object_io* io, int* done);
/// The share of its own work that this rank has done, 0 to 1. Local.
double fluvial_progress(const fluvial_object_io* io);
/// Waits for what was started with io->block 0, and writes the result. Fails on all ranks with what
/// failed on any. Does nothing when nothing is under way. Collective, blocking.
int fluvial_wait(fluvial_object_io* io);

#ifdef __cplusplus
}
#endif
