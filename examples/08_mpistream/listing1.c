// SPDX-License-Identifier: Apache-2.0
/// Listing 1 of "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131) as it stands there,
/// but for the declaration of its callback. It prints nothing itself: run it on 10 ranks with
/// FLUVIAL_STREAM_REPORT=1, and the library says what has come of the stream.
// clang-format off: it is quoted
#include "MPIStream.h"
void AccumulateOverTime(void *in, void *inout, int *len, MPI_Datatype *datatype);

int main(int argc, char** argv)
{
    int myrank, nprocs;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &myrank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    // two data consumers, the rest are data producers
    int is_data_producer = myrank < (nprocs-2);
    int is_data_consumer = myrank >= (nprocs-2);
    // stream initialization stage
    MPIStream_Channel channel;
    MPIStream_CreateChannel(is_data_producer, is_data_consumer, MPI_COMM_WORLD, &channel);
    // 1. specify stream element
    MPI_Datatype resultDataType, streamDatatype, processDatatype;
    processDatatype = MPI_INT;
    streamDatatype = MPI_INT;
    resultDataType = MPI_INT;
    // 2. specify one stream operation
    MPIStream_Operation operation;
    operation.intermediate_function = &AccumulateOverTime;
    operation.terminal_function = MPI_SUM;
    // 3. attach the specified operation to a parallel stream
    MPIStream stream0;
    MPIStream_Attach(streamDatatype, resultDataType, processDatatype, &operation,
                    &stream0, &channel);
    // Start of the data streaming stage
    if(is_data_consumer) // data consumers keep on processing data
        MPIStream_Operate(&stream0);
    if(is_data_producer){
        for(int i = 0; i < 100; i++) // data producers stream out 100 elements belonging to stream0
            MPIStream_Send(&i, &stream0);
        MPIStream_Terminate(&stream0); // data producers signal the termination of its data
    }
    // Finalize
    MPIStream_FreeChannel(&channel);
    MPI_Finalize();
    return 0;
}

// user-defined operation on stream
void AccumulateOverTime(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    if(*len == 0)
        *((int*)inout) = 0; //initialize the result
    else if(*len == 1){
        *((int*)inout) += *((int*)in); //accumulate the result
    }
}
