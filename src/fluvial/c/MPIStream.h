/* SPDX-License-Identifier: Apache-2.0 */
/// Streams inside an MPI job, from C99, with the names and argument orders of "A Data Streaming
/// Model in MPI" (doi:10.1145/2831129.2831131), section 3.2.
///
/// Producers stream elements out at their own pace; consumers process each as it arrives, first
/// come first served, with an intermediate function; at the end the local results of all consumers
/// are combined by a terminal function.
///
///     void accumulate(void* in, void* inout, int* len, MPI_Datatype* type) {
///         if (*len == 0) *(int*)inout = 0;
///         else *(int*)inout += *(int*)in;
///     }
///     …
///     MPIStream_Channel channel;
///     MPIStream_CreateChannel(rank < 6, rank >= 6, MPI_COMM_WORLD, &channel);
///     MPIStream_Operation operation;
///     operation.intermediate_function = &accumulate;
///     operation.terminal_function = MPI_SUM;
///     MPIStream stream;
///     MPIStream_Attach(MPI_INT, MPI_INT, MPI_INT, &operation, &stream, &channel);
///     if (rank < 6) { MPIStream_Send(&value, &stream); MPIStream_Terminate(&stream); }
///     else          { MPIStream_Operate(&stream); MPIStream_Result(&sum, NULL, &stream); }
///     MPIStream_FreeChannel(&channel);
///
/// Every function returns MPI_SUCCESS or an MPI error class (MPI_ERR_ARG, MPI_ERR_NO_MEM,
/// MPI_ERR_OTHER); MPIStream_LastError() then says what went wrong. Nothing aborts or exits. A rank
/// that fails makes the calls of the others on this channel fail, too. One thread at a time for all
/// streams of a channel. Blocking calls process what arrives for this rank in the meantime, so that
/// a rank may be producer and consumer of the same stream. Memory is bounded: a producer waits
/// while the buffer at its consumer is full.
///
/// With FLUVIAL_STREAM_REPORT=1 in the environment the first consumer prints a line for each stream
/// that ends: its elements and their bytes, and the result where that is of one predefined type.
#ifndef FLUVIAL_C_MPISTREAM_H
#define FLUVIAL_C_MPISTREAM_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Producers, consumers, and the streams between them.
typedef struct MPIStream_Channel {
    struct MPIStream_ChannelState* state;  ///< the library's own
} MPIStream_Channel;

/// A stream that is attached to a channel. It may be copied, and ends with its channel: afterwards
/// calls return MPI_ERR_ARG.
typedef struct MPIStream {
    struct MPIStream_State* state;  ///< the library's own
} MPIStream;
typedef MPIStream MPI_Stream;

/// What consumers do. The structure has these two members alone, and both are read.
typedef struct MPIStream_Operation {
    /// Called on consumers once with *len == 0 when the stream is attached, to initialise the
    /// result `inout` (of the result type); then for each element with `in` pointing to *len items
    /// of the process type, whose handle is *datatype. Memory of `in` belongs to the library and
    /// ends with the call. Null where a batch function is given (MPIStream_Options). For an MPI_Op:
    /// MPIStream_Elementwise().
    MPI_User_function* intermediate_function;
    /// Combines the local results of the consumers when the stream ends, those of lower ranks
    /// first: a predefined operation, one of MPI_Op_create(), or a function by
    /// MPIStream_Terminal(). Predefined ones work on the items of the result; others on items of
    /// the process type where the result consists of such, and else on one result. MPI_OP_NULL:
    /// results are not combined, each consumer keeps its own.
    MPI_Op terminal_function;
} MPIStream_Operation;

/* The functions of the paper. -------------------------------------------------------------------*/

/// Each rank says whether it is a producer, a consumer, both or neither. The communicator is
/// duplicated: messages of the application are never touched. Collective over `comm`, blocking.
int MPIStream_CreateChannel(int isProducer, int isConsumer, MPI_Comm comm,
                            MPIStream_Channel* channel);
/// Ends streams that have not ended (producers terminate, consumers process what is left), then
/// frees them and the channel, also after a failure. Collective over its producers and consumers,
/// blocking. Not from inside an intermediate function.
int MPIStream_FreeChannel(MPIStream_Channel* channel);
/// An element of the stream is one of `streamDataType`: any committed datatype, also with gaps,
/// such as the outer layer of a mesh, of less than 2 GiB of data (MPI_ERR_ARG beyond: send parts of
/// it); it is taken from where it lies. The result is one `resultDataType`. `processDataType` is
/// what the intermediate function sees elements as: an element consists of *len of these.
/// MPI_DATATYPE_NULL: of one `streamDataType`. These lie as the extent of their type says, which
/// may be negative; MPI_ERR_ARG where it lets them overlap. The types may be freed afterwards.
/// Collective over producers and consumers, which give equal types, and consumers equal
/// operations, blocking: MPI_ERR_ARG on all ranks where one consumer passes another MPI_Op than the
/// others; what producers pass is not used.
int MPIStream_Attach(MPI_Datatype streamDataType, MPI_Datatype resultDataType,
                     MPI_Datatype processDataType, MPIStream_Operation* operation,
                     MPIStream* stream, MPIStream_Channel* channel);
/// Streams out one element; the memory may be reused. Producers. Blocking while the buffer is full.
int MPIStream_Send(const void* sendbuf, MPIStream* stream);
/// The same without blocking: the memory stays unchanged until MPIStream_Test() or _Wait() says so.
int MPIStream_Isend(const void* sendbuf, MPIStream* stream);
/// This producer streams out no more. Blocking until its elements have left its memory.
int MPIStream_Terminate(MPIStream* stream);
/// The same without blocking: MPIStream_Test() and _Wait() complete it.
int MPIStream_Iterminate(MPIStream* stream);
/// The result so far, of all consumers, at any time of the stream's life: *flag is 1 when it is in
/// `resultbuf`, and 0 when there is none yet (the MPI_MAX of no element). Consumers answer before
/// they process further elements; MPIStream_Covered() tells how many the result is made of.
/// Producers. Blocking. A message to and from each consumer. With MPI_OP_NULL as terminal function
/// nothing is combined: it is the first consumer's own result, made of its elements alone.
int MPIStream_Query(void* resultbuf, int* flag, MPIStream* stream);
/// The same without blocking, on producers, too. The first call asks; it and later calls set *flag
/// to 1 once the result is in `resultbuf`. The next call then asks anew.
int MPIStream_Iquery(void* resultbuf, int* flag, MPIStream* stream);
/// A verdict on what all producers contribute, as soon as it is certain, without waiting for the
/// slowest. Each producer passes the address of one element, and gets the verdict of this round,
/// the same on all of them, as an int, 0 or 1, in `global_result`: its first call is of the first
/// round, and so on. Late contributions never count for another round.
///
/// On the first consumer the intermediate function is called with a result of each round's own:
/// with *len == 0 when the round begins, then once for each contribution, in the order in which
/// they come. When it can tell the verdict it calls this function with a null pointer as
/// `local_result` and the verdict, an int, in `global_result`; it sees no further contributions of
/// that round, but for contributions that came together with the last. Where it does not, with all
/// contributions before it, the verdict is 0. Producers: blocking, while consumers process
/// (MPIStream_Operate() and the like). An error on all ranks when a producer frees the channel
/// whose contribution is wanted.
int MPIStream_ThresholdColl(const void* local_result, void* global_result, MPIStream* stream);
/// Processes elements until all producers have terminated and the result is there. Consumers.
/// Blocking.
int MPIStream_Operate(MPIStream* stream);
/// Processes the elements that are there, and returns to the application's own work. Call it again
/// and again; MPIStream_Test() tells when the stream has ended.
int MPIStream_Ioperate(MPIStream* stream);

/* Extensions. ----------------------------------------------------------------------------------*/

/// *flag: whether everything that this rank has begun without blocking is complete: the memory of
/// MPIStream_Isend() may be reused, what MPIStream_Iterminate() ended has left; and on consumers
/// whether the stream has ended, whether or not they called MPIStream_Ioperate(). On a rank that
/// is producer, too, the end counts once it has begun to terminate, since it cannot come before.
/// Makes progress in all streams of the channel, in which consumers process elements, and notices
/// failures, until this stream has ended here. Does not block.
int MPIStream_Test(int* flag, MPIStream* stream);
/// Blocking until the same is so: consumers process elements until the end of the stream.
int MPIStream_Wait(MPIStream* stream);
/// `count` elements that lie side by side, as MPI has it (by the extent of the type). Blocking as
/// MPIStream_Send().
int MPIStream_SendMany(const void* sendbuf, long long count, MPIStream* stream);
/// Room in the stream's own memory for up to `*count` elements (in: wanted; out: as many as lie
/// side by side, 1 at least), which are to be written there without gaps and then committed: no
/// copy. Producers. Blocking while the buffer is full.
int MPIStream_Reserve(void** room, long long* count, MPIStream* stream);
/// The first `count` elements of the room are complete.
int MPIStream_Commit(long long count, MPIStream* stream);
/// Sends off what is still collected. Blocking.
int MPIStream_Flush(MPIStream* stream);

/// The result of a stream, and the number of elements that it is made of (which may be null).
/// Blocking until the stream has ended. Consumers, and producers with result_on_producers. With
/// MPI_OP_NULL consumers get their own, and producers the first consumer's.
/// MPI_ERR_ARG for the MPI_MIN, MPI_MAX and the like of no element at all.
int MPIStream_Result(void* resultbuf, long long* elements, MPIStream* stream);

/// The number of elements that the last result of MPIStream_Query() or _Iquery() is made of. Local.
int MPIStream_Covered(long long* elements, MPIStream* stream);

/// An intermediate function that stands for an MPI_Op, predefined or of MPI_Op_create(): the result
/// has as many items as an element, each combined with the same one of every element. Null, and
/// MPIStream_LastError() says why, for MPI_OP_NULL, and for the 65th different operation of a
/// program.
MPI_User_function* MPIStream_Elementwise(MPI_Op op);
/// The other way: an MPI_Op from a terminal function. When the stream ends it is called on every
/// consumer exactly once with *len == 0, `in` a null pointer and `inout` the local result, to do
/// what is left to do there (write out a buffer, close a file), and after that, where there are
/// several consumers, with *len > 0 to combine `inout` with the result `in` of lower ranks, as MPI
/// has it. It is freed with the channel.
int MPIStream_Terminal(MPI_User_function* function, MPI_Op* op, MPIStream_Channel* channel);

/// Equal on all ranks, but for the name of the trace: the first rank's word counts.
typedef struct MPIStream_ChannelOptions {
    int shared_memory;    ///< 1: between ranks of one host; 0: messages everywhere
    double timeout_s;     ///< a blocking call in which nothing moves for so long fails
    double dead_after_s;  ///< a rank of this host that is dead is noticed by ranks that wait
    /// A rank of this host that is stopped for longer (SIGSTOP, a debugger) makes the calls of all
    /// fail; 10 by default, 0.2 at least, INFINITY for never. It is no limit on what a rank
    /// computes: a thread, which calls no MPI, shows that the process runs.
    double stall_timeout_s;
    /// Null, or where MPIStream_FreeChannel() writes what each rank did when, for chrome://tracing
    /// and Perfetto. Of a channel that fails each rank writes what it has into a file of its own
    /// beside it: "trace.rank-3.json" for "trace.json".
    const char* trace_file;
} MPIStream_ChannelOptions;

/// What MPIStream_CreateChannel() uses. Local.
int MPIStream_ChannelOptions_init(MPIStream_ChannelOptions* options);
/// MPIStream_CreateChannel() with options.
int MPIStream_CreateChannelWith(const MPIStream_ChannelOptions* options, int isProducer,
                                int isConsumer, MPI_Comm comm, MPIStream_Channel* channel);

/// Which consumer an element goes to.
enum {
    MPISTREAM_NEAREST = 0,      ///< each producer has one consumer, on its own host where possible
    MPISTREAM_ROUND_ROBIN = 1,  ///< to all in turn
    MPISTREAM_MOST_ROOM = 2,    ///< to one whose buffer has room: slow consumers get less
    MPISTREAM_BY_KEY = 3,       ///< by a hash of key_bytes (1 or more) from key_offset on
    MPISTREAM_BY_FUNCTION = 4   ///< by `choose`
};

/// A consumer's number, from an element without its gaps; taken modulo the number of consumers.
typedef unsigned long long (*MPIStream_Choose_function)(const void* element, void* context);
/// In place of the intermediate function: `count` elements without their gaps, side by side. It is
/// called once with count == 0 to initialise `inout`. What is not 0 ends the stream on all ranks.
typedef int (*MPIStream_Batch_function)(const void* elements, long long count, void* inout,
                                        void* context);

/// Equal on all ranks, but for the name, which is each rank's own word, and for functions and
/// contexts: the library cannot tell whether functions are the same. `functions` says it for them.
typedef struct MPIStream_Options {
    const char* name;     ///< in messages and reports; null: "stream 0" and so on
    size_t buffer_bytes;  ///< memory for elements at each consumer; 0: the library's choice
    /// An idle producer's elements are under way after this time: at once in shared memory; by
    /// messages (between hosts) if MPI was initialised with MPI_THREAD_MULTIPLE. After plain
    /// MPI_Init() no other thread may send for it: an element that comes after a pause leaves at
    /// once, but what follows it within this time lies until the rank calls MPIStream again. Call
    /// MPIStream_Flush() before a long computation.
    double latency_s;
    int result_on_producers;  ///< 1: MPIStream_Result() works there, too
    int association;          ///< MPISTREAM_NEAREST and so on
    size_t key_offset;        ///< in bytes of an element without its gaps
    size_t key_bytes;
    MPIStream_Choose_function choose;
    void* choose_context;
    MPIStream_Batch_function batch;
    void* batch_context;
    /// Null, or a name and version of the program's own functions in this stream, such as
    /// "accumulate 2": MPI_ERR_ARG on all ranks when consumers say different ones, and with
    /// MPISTREAM_BY_FUNCTION when any ranks do. That of other producers is not looked at.
    const char* functions;
} MPIStream_Options;

/// What MPIStream_Attach() uses. Local.
int MPIStream_Options_init(MPIStream_Options* options);
/// MPIStream_Attach() with options.
int MPIStream_AttachWith(const MPIStream_Options* options, MPI_Datatype streamDataType,
                         MPI_Datatype resultDataType, MPI_Datatype processDataType,
                         MPIStream_Operation* operation, MPIStream* stream,
                         MPIStream_Channel* channel);

/// What this rank has done in a stream so far.
typedef struct MPIStream_Statistics {
    long long sent_elements;  ///< as a producer
    long long sent_bytes;
    long long stalls;    ///< times that there was no room
    double stalled_s;    ///< waited for room
    long long elements;  ///< processed as a consumer
    long long bytes;
    long long batches;
    double processing_s;
    double idle_s;              ///< in blocking calls, with nothing to process
    long long depth_bytes;      ///< waiting now
    long long depth_bytes_max;  ///< the most that was seen
    long long memory_bytes;     ///< held for elements; 0 once it ended and another was attached
    long long queries_answered;
} MPIStream_Statistics;

/// Local.
int MPIStream_GetStatistics(MPIStream_Statistics* statistics, MPIStream* stream);

/// What went wrong in the last call of this thread that failed; "" before any did. Valid until the
/// next one that fails. Local.
const char* MPIStream_LastError(void);

#ifdef __cplusplus
}
#endif

#endif
