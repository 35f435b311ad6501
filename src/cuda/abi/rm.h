/*
 * The part of NVIDIA's resource manager (RM) that crosses the ioctl boundary: request numbers,
 * class and control numbers, layouts. src/cuda/rm speaks it to the driver, src/emu/rm answers it.
 * The facts are those of the headers of NVIDIA's open GPU kernel modules (nv_escape.h,
 * nv-ioctl-numbers.h, nvos.h, nvstatuscodes.h, cl0080.h, alloc_channel.h, ctrla06c.h,
 * ctrla06fgpfifo.h, ctrlc36f.h, ctrl2080fifo.h, ctrl2080gr.h); beside each layout is its name
 * there. Only the names here and the comments are our own. Constants only, no state.
 */
#ifndef COT_CUDA_ABI_RM_H
#define COT_CUDA_ABI_RM_H

#include <linux/ioctl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- requests ---- */

#define COT_NV_TYPE	      'F'
#define COT_NV_NR_FREE	      0x29u
#define COT_NV_NR_CONTROL     0x2au
#define COT_NV_NR_ALLOC	      0x2bu
#define COT_NV_NR_DUP	      0x34u
#define COT_NV_NR_REGISTER_FD 0xc9u
#define COT_NV_NR_VERSION     0xd2u
#define COT_NV_NR_XFER	      0xd3u /* wraps another request: struct cot_nv_xfer */

#define COT_NV_REQUEST(nr, size) _IOC(_IOC_READ | _IOC_WRITE, COT_NV_TYPE, (nr), (size))

/* One that concerns objects? One compare for everything that is not of this driver. */
static inline bool cot_nv_is_ours(unsigned long request)
{
	unsigned nr = request & 0xffu;

	return (request & 0xff00u) == (unsigned)COT_NV_TYPE << 8 &&
	       (nr - COT_NV_NR_FREE <= COT_NV_NR_ALLOC - COT_NV_NR_FREE || nr == COT_NV_NR_DUP ||
		nr == COT_NV_NR_XFER);
}

struct cot_nv_alloc { /* NVOS21 */
	uint32_t client;
	uint32_t parent;
	uint32_t object; /* chosen by RM when 0 */
	uint32_t class_;
	uint64_t params;
	uint32_t params_size;
	uint32_t status;
};

struct cot_nv_alloc_access { /* NVOS64 */
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t class_;
	uint64_t params;
	uint64_t rights;
	uint32_t params_size;
	uint32_t flags;
	uint32_t status;
	uint32_t pad;
};

struct cot_nv_free { /* NVOS00 */
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t status;
};

struct cot_nv_dup { /* NVOS55 */
	uint32_t client;
	uint32_t parent;
	uint32_t object;
	uint32_t source_client;
	uint32_t source_object;
	uint32_t flags;
	uint32_t status;
};

struct cot_nv_control { /* NVOS54 */
	uint32_t client;
	uint32_t object;
	uint32_t cmd;
	uint32_t flags;
	uint64_t params;
	uint32_t params_size;
	uint32_t status;
};

struct cot_nv_xfer { /* nv_ioctl_xfer_t */
	uint32_t nr;
	uint32_t size;
	uint64_t ptr;
};

#define COT_NV_VERSION_SIZE 64u

struct cot_nv_version { /* nv_ioctl_rm_api_version_t */
	uint32_t cmd;
	uint32_t reply;
	char text[COT_NV_VERSION_SIZE];
};

/* Flags that say that the parameters are packed in another form. */
#define COT_NV_ALLOC_PACKED   1u
#define COT_NV_CONTROL_PACKED 4u

/* ---- classes ---- */

#define COT_NV_CLASS_ROOT	   0x0000u
#define COT_NV_CLASS_ROOT_NON_PRIV 0x0001u
#define COT_NV_CLASS_ROOT_CLIENT   0x0041u
#define COT_NV_CLASS_DEVICE	   0x0080u
#define COT_NV_CLASS_SUBDEVICE	   0x2080u
#define COT_NV_CLASS_CONTEXT_SHARE 0x9067u
#define COT_NV_CLASS_GROUP	   0xa06cu
/* Those of one generation; the functions below know the others. */
#define COT_NV_CLASS_HOPPER_CHANNEL 0xc86fu
#define COT_NV_CLASS_HOPPER_COPY    0xc8b5u
#define COT_NV_CLASS_HOPPER_COMPUTE 0xcbc0u

/* Channel classes: A06F (Kepler) ... C86F (Hopper), C96F and later (Blackwell). */
static inline bool cot_nv_is_channel_class(uint32_t class_)
{
	return (class_ & 0xffu) == 0x6fu && class_ >= 0xa06fu && class_ <= 0xff6fu;
}

/* Compute engine classes, allocated below a channel: A0C0 ... CBC0 (Hopper) and later. */
static inline bool cot_nv_is_compute_class(uint32_t class_)
{
	return (class_ & 0xffu) == 0xc0u && class_ >= 0xa0c0u && class_ <= 0xffc0u;
}

/* What comes with the allocation of a device and of a channel group. */

struct cot_nv_device_params { /* NV0080_ALLOC_PARAMETERS */
	uint32_t device_id;   /* its instance */
	uint32_t share_client;
	uint32_t target_client;
	uint32_t target_device;
	int32_t flags;
	uint64_t space_size;
	uint64_t start;
	uint64_t limit;
	int32_t mode;
};

struct cot_nv_group_params { /* NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS */
	uint32_t error;
	uint32_t ecc_error;
	uint32_t address_space;
	uint32_t engine_type;
	uint8_t vgpu_plugin;
};

#define COT_NV_ENGINE_NONE	 0u /* not said */
#define COT_NV_ENGINE_GRAPHICS_0 1u /* graphics and compute; 2..8 are further ones */
#define COT_NV_ENGINE_GRAPHICS_7 8u
#define COT_NV_ENGINE_COPY_0	 9u

/* ---- controls ---- */

#define COT_NV_GROUP_SCHEDULE	    0xa06c0101u /* struct cot_nv_schedule */
#define COT_NV_GROUP_BIND	    0xa06c0102u /* u32 engine type */
#define COT_NV_GROUP_SET_SLICE	    0xa06c0103u /* u64 us */
#define COT_NV_GROUP_GET_SLICE	    0xa06c0104u /* u64 us */
#define COT_NV_GROUP_PREEMPT	    0xa06c0105u /* struct cot_nv_preempt */
#define COT_NV_GROUP_GET_INFO	    0xa06c0106u /* u32 number of the group */
#define COT_NV_GROUP_SET_INTERLEAVE 0xa06c0107u /* u32 level */
#define COT_NV_GROUP_GET_INTERLEAVE 0xa06c0108u /* u32 level */
#define COT_NV_CHANNEL_SCHEDULE	    0xa06f0103u /* u8 enable, ... */
#define COT_NV_CHANNEL_GET_TOKEN    0xc36f0108u /* u32: what to ring the doorbell with */
#define COT_NV_DISABLE_CHANNELS	    0x2080110bu /* struct cot_nv_disable */
#define COT_NV_SET_PREEMPTION	    0x20801210u /* struct cot_nv_preemption */

/* The slice of a new group (128 << 3, Volta and later) unless the driver's user part sets one. */
#define COT_NV_DEFAULT_SLICE_US 1024u

struct cot_nv_schedule {
	uint8_t enable;
	uint8_t skip_submit;
	uint8_t skip_enable;
};

struct cot_nv_preempt {
	uint8_t wait;
	uint8_t manual_timeout;
	uint32_t timeout_us;
};

#define COT_NV_DISABLE_MAX 64u

struct cot_nv_disable {
	uint8_t disable;
	uint32_t n_channels;
	uint8_t only_scheduling;
	uint8_t rewind;
	uint64_t event; /* for kernel callers; 0 = synchronous */
	uint32_t clients[COT_NV_DISABLE_MAX];
	uint32_t channels[COT_NV_DISABLE_MAX];
};

#define COT_NV_PREEMPTION_SET_COMPUTE 1u /* flag: the `compute` field counts */
#define COT_NV_PREEMPTION_WFI	      0u /* when the kernels have ended */
#define COT_NV_PREEMPTION_CTA	      1u /* at the end of thread blocks: draining */
#define COT_NV_PREEMPTION_CILP	      2u /* between instructions: context switch */

struct cot_nv_preemption {
	uint32_t flags;
	uint32_t channel;
	uint32_t graphics;
	uint32_t compute;
	uint64_t route_flags;
	uint64_t route;
};

/* ---- the layouts, checked ---- */

_Static_assert(sizeof(struct cot_nv_alloc) == 32, "NVOS21");
_Static_assert(offsetof(struct cot_nv_alloc, params) == 16, "NVOS21");
_Static_assert(sizeof(struct cot_nv_alloc_access) == 48, "NVOS64");
_Static_assert(offsetof(struct cot_nv_alloc_access, status) == 40, "NVOS64");
_Static_assert(sizeof(struct cot_nv_free) == 16, "NVOS00");
_Static_assert(sizeof(struct cot_nv_dup) == 28, "NVOS55");
_Static_assert(sizeof(struct cot_nv_control) == 32, "NVOS54");
_Static_assert(offsetof(struct cot_nv_control, params) == 16, "NVOS54");
_Static_assert(sizeof(struct cot_nv_xfer) == 16, "nv_ioctl_xfer_t");
_Static_assert(sizeof(struct cot_nv_version) == 72, "nv_ioctl_rm_api_version_t");
_Static_assert(sizeof(struct cot_nv_device_params) == 56, "NV0080");
_Static_assert(offsetof(struct cot_nv_device_params, space_size) == 24, "NV0080");
_Static_assert(sizeof(struct cot_nv_group_params) == 20, "A06C");
_Static_assert(offsetof(struct cot_nv_group_params, engine_type) == 12, "A06C");
_Static_assert(sizeof(struct cot_nv_schedule) == 3, "GPFIFO_SCHEDULE");
_Static_assert(sizeof(struct cot_nv_preempt) == 8, "PREEMPT");
_Static_assert(offsetof(struct cot_nv_preempt, timeout_us) == 4, "PREEMPT");
_Static_assert(sizeof(struct cot_nv_disable) == 536, "FIFO_DISABLE_CHANNELS");
_Static_assert(offsetof(struct cot_nv_disable, clients) == 24, "FIFO_DISABLE_CHANNELS");
_Static_assert(sizeof(struct cot_nv_preemption) == 32, "SET_CTXSW_PREEMPTION_MODE");

/* ---- status of a request that the kernel carried out ---- */

#define COT_NV_OK		      0x00u
#define COT_NV_BUSY_RETRY	      0x03u
#define COT_NV_GPU_IS_LOST	      0x0fu
#define COT_NV_DUPLICATE_NAME	      0x19u
#define COT_NV_INSUFFICIENT_RESOURCES 0x1au
#define COT_NV_NO_PERMISSION	      0x1bu
#define COT_NV_INVALID_ARGUMENT	      0x1fu
#define COT_NV_INVALID_CHANNEL	      0x21u
#define COT_NV_INVALID_CLIENT	      0x23u
#define COT_NV_INVALID_DEVICE	      0x26u
#define COT_NV_INVALID_OBJECT	      0x31u
#define COT_NV_INVALID_OBJECT_HANDLE  0x33u
#define COT_NV_INVALID_OBJECT_OLD     0x35u
#define COT_NV_INVALID_OBJECT_PARENT  0x36u
#define COT_NV_INVALID_PARAM_STRUCT   0x3au
#define COT_NV_INVALID_POINTER	      0x3du
#define COT_NV_INVALID_STATE	      0x40u
#define COT_NV_NO_MEMORY	      0x51u
#define COT_NV_NOT_SUPPORTED	      0x56u
#define COT_NV_OBJECT_NOT_FOUND	      0x57u
#define COT_NV_TIMEOUT		      0x65u

#endif
