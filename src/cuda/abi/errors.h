/* The results of CUDA's driver calls: one list for the enumeration, the names and the texts. */
#ifndef COT_CUDA_ABI_ERRORS_H
#define COT_CUDA_ABI_ERRORS_H

/* E(name, value, text) */
#define COT_CUDA_ERRORS(E)                                                                         \
	E(CUDA_SUCCESS, 0, "no error")                                                             \
	E(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument")                                         \
	E(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                            \
	E(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error")                                   \
	E(CUDA_ERROR_DEINITIALIZED, 4, "driver shutting down")                                     \
	E(CUDA_ERROR_PROFILER_DISABLED, 5,                                                         \
	  "profiler disabled while using external profiling tool")                                 \
	E(CUDA_ERROR_STUB_LIBRARY, 34, "CUDA driver is a stub library")                            \
	E(CUDA_ERROR_DEVICE_UNAVAILABLE, 46, "CUDA-capable device(s) is/are busy or unavailable")  \
	E(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected")                         \
	E(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal")                                \
	E(CUDA_ERROR_INVALID_IMAGE, 200, "device kernel image is invalid")                         \
	E(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context")                               \
	E(CUDA_ERROR_MAP_FAILED, 205, "mapping of buffer object failed")                           \
	E(CUDA_ERROR_NO_BINARY_FOR_GPU, 209,                                                       \
	  "no kernel image is available for execution on the device")                              \
	E(CUDA_ERROR_ECC_UNCORRECTABLE, 214, "uncorrectable ECC error encountered")                \
	E(CUDA_ERROR_UNSUPPORTED_LIMIT, 215, "limit is not supported on this architecture")        \
	E(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217,                                                 \
	  "peer access is not supported between these two devices")                                \
	E(CUDA_ERROR_INVALID_PTX, 218, "a PTX JIT compilation failed")                             \
	E(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, "PTX JIT compiler library not found")            \
	E(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222,                                                 \
	  "the provided PTX was compiled with an unsupported toolchain.")                          \
	E(CUDA_ERROR_INVALID_SOURCE, 300, "device kernel image is invalid")                        \
	E(CUDA_ERROR_FILE_NOT_FOUND, 301, "file not found")                                        \
	E(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302, "shared object symbol not found")        \
	E(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303, "shared object initialization failed")        \
	E(CUDA_ERROR_OPERATING_SYSTEM, 304,                                                        \
	  "OS call failed or operation not supported on this OS")                                  \
	E(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle")                               \
	E(CUDA_ERROR_ILLEGAL_STATE, 401, "the operation cannot be performed in the present state") \
	E(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found")                                     \
	E(CUDA_ERROR_NOT_READY, 600, "device not ready")                                           \
	E(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered")             \
	E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch")      \
	E(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated")               \
	E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is already enabled")           \
	E(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, "peer access has not been enabled")             \
	E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708,                                                  \
	  "cannot set while device is active in this process")                                     \
	E(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, "context is destroyed")                            \
	E(CUDA_ERROR_ASSERT, 710, "device-side assert triggered")                                  \
	E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712,                                          \
	  "part or all of the requested memory range is already mapped")                           \
	E(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713,                                              \
	  "pointer does not correspond to a registered memory region")                             \
	E(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, "hardware stack error")                            \
	E(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "an illegal instruction was encountered")           \
	E(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address")                                \
	E(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717,                                                   \
	  "operation not supported on global/shared address space")                                \
	E(CUDA_ERROR_INVALID_PC, 718, "invalid program counter")                                   \
	E(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure")                             \
	E(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, "too many blocks in cooperative launch")   \
	E(CUDA_ERROR_NOT_PERMITTED, 800, "operation not permitted")                                \
	E(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported")                                \
	E(CUDA_ERROR_SYSTEM_NOT_READY, 802, "system not yet initialized")                          \
	E(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803, "another version of the emulated GPU is in use") \
	E(CUDA_ERROR_MPS_CONNECTION_FAILED, 805,                                                   \
	  "MPS client failed to connect to the MPS control daemon")                                \
	E(CUDA_ERROR_MPS_RPC_FAILURE, 806,                                                         \
	  "the remote procedural call between the MPS server and the MPS client failed")           \
	E(CUDA_ERROR_MPS_SERVER_NOT_READY, 807,                                                    \
	  "MPS server is not ready to accept new MPS client requests")                             \
	E(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808,                                                 \
	  "the hardware resources required to create MPS client have been exhausted")              \
	E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900,                                              \
	  "operation not permitted when stream is capturing")                                      \
	E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901,                                              \
	  "operation failed due to a previous error during capture")                               \
	E(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902,                                                    \
	  "operation would result in a merge of separate capture sequences")                       \
	E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903,                                                \
	  "capture was not ended in the same stream as it began")                                  \
	E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "capturing stream has unjoined work")           \
	E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905,                                                \
	  "dependency created on uncaptured work in another stream")                               \
	E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906,                                                 \
	  "operation would make the legacy stream depend on a capturing blocking stream")          \
	E(CUDA_ERROR_CAPTURED_EVENT, 907,                                                          \
	  "operation not permitted on an event last recorded in a capturing stream")               \
	E(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908,                                             \
	  "attempt to terminate a thread-local capture sequence from another thread")              \
	E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910,                                               \
	  "the graph update was not performed because it included changes which violated "         \
	  "constraints specific to instantiated graph update")                                     \
	E(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, "cluster misconfiguration")                        \
	E(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914, "invalid resource type")                          \
	E(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915, "invalid resource configuration")        \
	E(CUDA_ERROR_STREAM_DETACHED, 917, "the stream's green context has been destroyed")        \
	E(CUDA_ERROR_UNKNOWN, 999, "unknown error")

typedef enum cudaError_enum {
#define COT_CUDA_ERROR_VALUE(name, value, text) name = (value),
	COT_CUDA_ERRORS(COT_CUDA_ERROR_VALUE)
#undef COT_CUDA_ERROR_VALUE
} CUresult;

#endif
