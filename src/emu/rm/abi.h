/*
 * Numbers and layouts of the resource manager's ioctl interface, as far as we emulate it. They
 * are NVIDIA's own, from the headers of its MIT-licensed open kernel modules: nv-ioctl-numbers.h,
 * nvos.h, nvstatuscodes.h, ctrla06c.h, ctrlc36f.h, ctrl2080fifo.h, ctrl2080gr.h, alloc_channel.h.
 * Names follow those headers so that they can be looked up.
 */
#ifndef COT_EMU_RM_ABI_H
#define COT_EMU_RM_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>

#define NV_IOCTL_MAGIC		 'F'
#define NV_ESC_RM_FREE		 0x29
#define NV_ESC_RM_CONTROL	 0x2A
#define NV_ESC_RM_ALLOC		 0x2B
#define NV_ESC_REGISTER_FD	 0xC9
#define NV_ESC_CHECK_VERSION_STR 0xD2

#define NV_OK				0x00
#define NV_ERR_INSERT_DUPLICATE_NAME	0x19
#define NV_ERR_INSUFFICIENT_RESOURCES	0x1A
#define NV_ERR_INSUFFICIENT_PERMISSIONS 0x1B
#define NV_ERR_INVALID_ARGUMENT		0x1F
#define NV_ERR_INVALID_CHANNEL		0x21
#define NV_ERR_INVALID_CLASS		0x22
#define NV_ERR_INVALID_CLIENT		0x23
#define NV_ERR_INVALID_DEVICE		0x26
#define NV_ERR_INVALID_OBJECT_OLD	0x35
#define NV_ERR_INVALID_OBJECT_PARENT	0x36
#define NV_ERR_INVALID_PARAM_STRUCT	0x3A
#define NV_ERR_INVALID_POINTER		0x3D
#define NV_ERR_INVALID_STATE		0x40
#define NV_ERR_NOT_SUPPORTED		0x56
#define NV_ERR_OBJECT_NOT_FOUND		0x57
#define NV_ERR_TIMEOUT			0x65

#define NV01_ROOT		 0x0000
#define NV01_ROOT_NON_PRIV	 0x0001
#define NV01_ROOT_CLIENT	 0x0041
#define NV01_DEVICE_0		 0x0080
#define NV20_SUBDEVICE_0	 0x2080
#define KEPLER_CHANNEL_GROUP_A	 0xA06C
#define FERMI_CONTEXT_SHARE_A	 0x9067
#define FERMI_VASPACE_A		 0x90F1
#define HOPPER_CHANNEL_GPFIFO_A	 0xC86F
#define HOPPER_DMA_COPY_A	 0xC8B5
#define HOPPER_COMPUTE_A	 0xCBC0
#define NV2080_ENGINE_TYPE_GR0	 1u
#define NV2080_ENGINE_TYPE_COPY0 9u

#define NVA06C_CTRL_CMD_GPFIFO_SCHEDULE		     0xA06C0101
#define NVA06C_CTRL_CMD_BIND			     0xA06C0102
#define NVA06C_CTRL_CMD_SET_TIMESLICE		     0xA06C0103
#define NVA06C_CTRL_CMD_GET_TIMESLICE		     0xA06C0104
#define NVA06C_CTRL_CMD_PREEMPT			     0xA06C0105
#define NVA06C_CTRL_CMD_GET_INFO		     0xA06C0106
#define NVA06C_CTRL_CMD_SET_INTERLEAVE_LEVEL	     0xA06C0107
#define NVA06C_CTRL_CMD_GET_INTERLEAVE_LEVEL	     0xA06C0108
#define NVC36F_CTRL_CMD_GET_WORK_SUBMIT_TOKEN	     0xC36F0108
#define NV2080_CTRL_CMD_FIFO_DISABLE_CHANNELS	     0x2080110B
#define NV2080_CTRL_CMD_GR_SET_CTXSW_PREEMPTION_MODE 0x20801210

/* flags of GR_SET_CTXSW_PREEMPTION_MODE: which of the two modes the call sets */
#define NV2080_CTRL_SET_CTXSW_PREEMPTION_MODE_CILP 1u
#define NV2080_CTRL_SET_CTXSW_PREEMPTION_MODE_GFXP 2u

struct cot_rm_free { /* NVOS00 */
	uint32_t root, parent, object, status;
};

struct cot_rm_alloc { /* NVOS21 */
	uint32_t root, parent, object, class_id;
	uint64_t params;
	uint32_t params_size, status;
};

struct cot_rm_alloc64 { /* NVOS64 */
	uint32_t root, parent, object, class_id;
	uint64_t params, rights;
	uint32_t params_size, flags, status;
	uint32_t pad;
};

struct cot_rm_control { /* NVOS54 */
	uint32_t client, object, cmd, flags;
	uint64_t params;
	uint32_t params_size, status;
};

struct cot_rm_device_params { /* NV0080_ALLOC_PARAMETERS */
	uint32_t device_id, share_client, target_client, target_device;
	int32_t flags;
	uint32_t pad0;
	uint64_t space_size, start, limit;
	int32_t mode;
	uint32_t pad1;
};

struct cot_rm_group_params { /* NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS */
	uint32_t error, ecc_error, vaspace, engine_type;
	uint8_t vgpu_plugin, pad[3];
};

struct cot_rm_schedule {
	uint8_t enable, skip_submit, skip_enable;
};

struct cot_rm_preempt {
	uint8_t wait, manual_timeout, pad[2];
	uint32_t timeout_us;
};

#define COT_RM_MAX_DISABLE 64u
struct cot_rm_disable_channels {
	uint8_t disable, pad0[3];
	uint32_t n_channels;
	uint8_t only_scheduling, rewind_put, pad1[6];
	uint64_t preempt_event;
	uint32_t clients[COT_RM_MAX_DISABLE], channels[COT_RM_MAX_DISABLE];
};

struct cot_rm_preemption_mode {
	uint32_t flags, channel, graphics_mode, compute_mode;
	uint64_t route_flags, route;
};

#define COT_RM_VERSION_SIZE 64
struct cot_rm_version { /* nv_ioctl_rm_api_version_t */
	uint32_t cmd, reply;
	char text[COT_RM_VERSION_SIZE];
};

static_assert(sizeof(struct cot_rm_free) == 16, "NVOS00");
static_assert(sizeof(struct cot_rm_alloc) == 32, "NVOS21");
static_assert(sizeof(struct cot_rm_alloc64) == 48, "NVOS64");
static_assert(sizeof(struct cot_rm_control) == 32, "NVOS54");
static_assert(sizeof(struct cot_rm_device_params) == 56, "NV0080");
static_assert(sizeof(struct cot_rm_group_params) == 20, "A06C allocation");
static_assert(sizeof(struct cot_rm_schedule) == 3, "GPFIFO_SCHEDULE");
static_assert(sizeof(struct cot_rm_preempt) == 8, "PREEMPT");
static_assert(sizeof(struct cot_rm_disable_channels) == 536, "FIFO_DISABLE_CHANNELS");
static_assert(offsetof(struct cot_rm_disable_channels, clients) == 24, "FIFO_DISABLE_CHANNELS");
static_assert(sizeof(struct cot_rm_preemption_mode) == 32, "SET_CTXSW_PREEMPTION_MODE");

#define COT_RM_IOCTL(nr, type) _IOC(_IOC_READ | _IOC_WRITE, NV_IOCTL_MAGIC, nr, sizeof(type))

#endif
