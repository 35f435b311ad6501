/*
 * What the shim needs of NVIDIA's cuda.h: layouts and values of the driver interface, CUDA 11 to
 * 13. Handles are pointers that it only passes on, so they all have one type.
 */
#ifndef COT_SHIM_ABI_H
#define COT_SHIM_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef void *cot_cu_handle; /* a context, stream, module, library, function, kernel, event */
typedef unsigned long long cot_cu_address;

enum {
	COT_CU_SUCCESS = 0,
	COT_CU_ERROR_INVALID_VALUE = 1,
	COT_CU_ERROR_NO_DEVICE = 100,
	COT_CU_ERROR_NOT_FOUND = 500,
	COT_CU_ERROR_NOT_READY = 600,
	COT_CU_ERROR_NOT_SUPPORTED = 801,
};

/* NULL is one of these two, depending on the entry point. */
#define COT_CU_STREAM_LEGACY	 ((cot_cu_handle)(uintptr_t)1)
#define COT_CU_STREAM_PER_THREAD ((cot_cu_handle)(uintptr_t)2)

#define COT_CU_STREAM_NON_BLOCKING  1u
#define COT_CU_EVENT_BLOCKING_SYNC  1u
#define COT_CU_CTX_BLOCKING_SYNC    4u
#define COT_CU_EVENT_DISABLE_TIMING 2u

#define COT_CU_PROC_PER_THREAD 2u /* flag of cuGetProcAddress */

/* What `extra` of a launch holds, in pairs. */
#define COT_CU_PARAM_END	    ((void *)(uintptr_t)0)
#define COT_CU_PARAM_BUFFER_POINTER ((void *)(uintptr_t)1)
#define COT_CU_PARAM_BUFFER_SIZE    ((void *)(uintptr_t)2)

enum {
	COT_CU_DEVICE_SMS = 16,
	COT_CU_DEVICE_CAPABILITY_MAJOR = 75,
	COT_CU_DEVICE_CAPABILITY_MINOR = 76,
};

enum {
	COT_CU_LAUNCH_IGNORE = 0,
	COT_CU_LAUNCH_ACCESS_POLICY_WINDOW = 1,
	COT_CU_LAUNCH_COOPERATIVE = 2,
	COT_CU_LAUNCH_SYNCHRONIZATION_POLICY = 3,
	COT_CU_LAUNCH_CLUSTER_DIMENSION = 4,
	COT_CU_LAUNCH_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
	COT_CU_LAUNCH_PRIORITY = 8,
	COT_CU_LAUNCH_MEM_SYNC_DOMAIN_MAP = 9,
	COT_CU_LAUNCH_MEM_SYNC_DOMAIN = 10,
	COT_CU_LAUNCH_PREFERRED_SHARED_MEMORY_CARVEOUT = 14,
};

struct cot_cu_launch_attribute {
	int id;
	char pad[4];
	union {
		char bytes[64];
		int number;
		struct {
			unsigned x, y, z;
		} cluster;
	} value;
};

struct cot_cu_launch {
	unsigned grid[3], block[3];
	unsigned shared_bytes;
	cot_cu_handle stream;
	struct cot_cu_launch_attribute *attributes;
	unsigned n_attributes;
};

enum { COT_CU_CAPTURE_NONE = 0 };
enum { COT_CU_CAPTURE_MODE_RELAXED = 2 };

enum { COT_CU_MEM_OP_WRITE_VALUE_32 = 2 };

union cot_cu_mem_op {
	int operation;
	struct {
		int operation;
		cot_cu_address address;
		uint64_t value;
		unsigned flags;
		cot_cu_address alias;
	} write;
	uint64_t pad[6];
};

#endif
