/* Devices: what the presets look like to a program. */
#include <string.h>

#include "emu/driver/inside.h"

#define SOLD(what)                               \
	{                                        \
		COT_H200_##what, COT_K20C_##what \
	}
#define H200_KHZ (COT_H200_CLOCK_MHZ * 1000)

/* Number in CUdevice_attribute, and the values of an H200 and a K20c. */
static const struct {
	int what, values[COT_EMU_N_PRESETS];
} attributes[] = {
	{1, {1024, 1024}}, /* threads per block */
	{2, {1024, 1024}}, /* block dimensions */
	{3, {1024, 1024}},
	{4, {64, 64}},
	{5, {2147483647, 2147483647}}, /* grid dimensions */
	{6, {65535, 65535}},
	{7, {65535, 65535}},
	{8, {49152, 49152}},		/* shared memory per block */
	{9, {65536, 65536}},		/* constant memory */
	{10, {32, 32}},			/* warp size */
	{11, {2147483647, 2147483647}}, /* pitch */
	{12, {65536, 65536}},		/* registers per block */
	{13, {H200_KHZ, 705500}},	/* clock, kHz */
	{14, {512, 512}},		/* texture alignment */
	{15, {1, 1}},			/* copies beside kernels */
	{17, {0, 0}},			/* timeout of kernels */
	{18, {0, 0}},			/* integrated */
	{19, {1, 1}},			/* can map host memory */
	{20, {0, 0}},			/* compute mode: default */
	{30, {512, 512}},		/* surface alignment */
	{31, {1, 1}},			/* concurrent kernels */
	{32, {1, 1}},			/* ECC */
	{34, {0, 0}},			/* PCI device */
	{35, {0, 0}},			/* TCC driver */
	{36, {3201000, 2600000}},	/* memory clock, kHz */
	{37, {6144, 320}},		/* memory bus, bits */
	{38, {62914560, 1310720}},	/* L2 cache */
	{39, SOLD(THREADS_PER_SM)},	/* threads per SM */
	{40, {3, 2}},			/* copy engines */
	{41, {1, 1}},			/* unified addressing */
	{50, {0, 0}},			/* PCI domain */
	{51, {32, 32}},			/* texture pitch alignment */
	{75, {9, 3}},			/* compute capability */
	{76, {0, 5}},
	{78, {1, 1}},		  /* stream priorities */
	{79, {1, 1}},		  /* L1 cache for global and ... */
	{80, {1, 1}},		  /* ... for local memory */
	{81, SOLD(SHMEM_PER_SM)}, /* shared memory per SM */
	{82, SOLD(REGS_PER_SM)},  /* registers per SM */
	{83, {1, 1}},		  /* managed memory */
	{84, {0, 0}},		  /* board of several GPUs */
	{85, {0, 0}},
	{86, {0, 0}}, /* native atomics with the host */
	{87, {2, 3}}, /* single to double precision */
	{88, {0, 0}}, /* pageable memory access */
	{89, {1, 0}}, /* concurrent managed access */
	{90, {1, 0}}, /* compute preemption */
	{91, {1, 1}}, /* host pointer for registered memory */
	{92, {1, 1}}, /* stream memory operations: the first version ... */
	{93, {1, 1}},
	{94, {1, 1}},
	{95, {1, 0}}, /* cooperative launches */
	{96, {0, 0}},
	{97, {232448, 49152}}, /* shared memory per block on request */
	{98, {0, 0}},	       /* remote writes */
	{99, {1, 1}},	       /* host memory can be registered */
	{100, {0, 0}},
	{101, {0, 0}},
	{102, {0, 0}}, /* virtual memory management */
	{103, {0, 0}}, /* handles to share memory by */
	{104, {0, 0}},
	{105, {0, 0}},
	{106, SOLD(BLOCKS_PER_SM)}, /* blocks per SM */
	{107, {0, 0}},		    /* compression */
	{108, {0, 0}},		    /* persisting L2 */
	{109, {0, 0}},
	{110, {0, 0}},	  /* GPUDirect RDMA */
	{111, {1024, 0}}, /* shared memory that the system takes per block */
	{112, {0, 0}},
	{113, {0, 0}}, /* read-only registration */
	{114, {0, 0}},
	{115, {1, 1}}, /* memory pools */
	{116, {0, 0}},
	{117, {0, 0}},
	{118, {0, 0}},
	{119, {0, 0}}, /* handle types of pools */
	{120, {1, 0}}, /* clusters */
	{121, {0, 0}},
	{122, {1, 1}}, /* ... and the second */
	{123, {1, 1}},
	{124, {0, 0}},
	{125, {0, 0}}, /* interprocess events */
	{126, {1, 1}}, /* memory domains */
	{127, {0, 0}}, /* tensor maps */
	{128, {0, 0}},
	{129, {0, 0}}, /* unified function pointers */
	{130, {0, 0}}, /* NUMA */
	{131, {-1, -1}},
	{132, {0, 0}}, /* multicast */
	{134, {-1, -1}},
	{135, {0, 0}},
	{136, {0, 0}},
	{137, {0, 0}},
	{138, {0, 0}},
	{139, {0, 0}},
	{140, {0, 0}},
	{141, {0, 0}},
	{142, {0, 0}},
	{143, {0, 0}},
	{144, {0, 0}},
	{145, {0, 0}},
	{146, {0, 0}},
	{147, {0, 0}},
};

/* Textures and surfaces do not exist here; these are their limits. */
static bool about_textures(int what)
{
	return (what >= 21 && what <= 29) || (what >= 42 && what <= 49) ||
	       (what >= 52 && what <= 74) || what == 77;
}

static uint32_t preset_index(void)
{
	return cot_emu_gpu_config(cot_emu_machine())->preset % COT_EMU_N_PRESETS;
}

static bool find_attribute(int what, int *ret_value)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(attributes); i++)
		if (attributes[i].what == what) {
			*ret_value = attributes[i].values[preset_index()];
			return true;
		}
	*ret_value = 0;
	return about_textures(what);
}

bool cot_emu_device_ask(CUdevice device, int what, int *ret_value)
{
	switch (what) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*ret_value = (int)cot_emu_n_sms();
		return true;
	case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
		*ret_value = cot_emu_visible(device) + 1;
		return true;
	case CU_DEVICE_ATTRIBUTE_MPS_ENABLED:
		*ret_value = cot_emu_under_mps();
		return true;
	default:
		return find_attribute(what, ret_value);
	}
}

int cot_emu_device_attribute(int what)
{
	int value;

	(void)find_attribute(what, &value);
	return value;
}

uint64_t cot_emu_device_memory(void)
{
	return cot_emu_devices[preset_index()].memory_bytes;
}

uint32_t cot_emu_device_target(void)
{
	return (uint32_t)(cot_emu_device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *
				  10 +
			  cot_emu_device_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

const char *cot_emu_device_name(void)
{
	return cot_emu_devices[preset_index()].name;
}

CUuuid cot_emu_device_uuid(CUdevice device)
{
	CUuuid uuid;

	memcpy(uuid.bytes, "cotenant-emu-gp", 15);
	uuid.bytes[15] = (unsigned char)('0' + cot_emu_visible(device));
	return uuid;
}
