/* Initialisation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/driver/inside.h"
#include "emu/gpu/config.h"
#include "emu/mps/client.h"
#include "emu/rm/rm.h"

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int init_pid; /* the process that has called cuInit */
static _Atomic bool ended;   /* the process is at its end */
static CUresult init_result;
static struct cot_emu_gpu *machine;
static bool under_mps;
static uint32_t n_sms;
static int visible[COT_EMU_MAX_GPUS];
static int n_visible;

/* "1,0" chooses and orders; the first bad entry ends the list, as with the real driver. */
static void read_visible(int n_gpus)
{
	const char *s = getenv("CUDA_VISIBLE_DEVICES");
	char *end;
	long v;
	int i;

	n_visible = 0;
	if (!s) {
		for (i = 0; i < n_gpus; i++)
			visible[n_visible++] = i;
		return;
	}
	while (*s && n_visible < (int)COT_EMU_MAX_GPUS) {
		v = strtol(s, &end, 10);
		if (end == s || v < 0 || v >= n_gpus)
			return;
		visible[n_visible++] = (int)v;
		s = *end == ',' ? end + 1 : end;
		if (*end && *end != ',')
			return;
	}
}

static CUresult result_of_attach(int err)
{
	switch (-err) {
	case 0:
		return CUDA_SUCCESS;
	case ENOSPC:
	case ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case EPROTO:
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	case EAGAIN:
		return CUDA_ERROR_NOT_INITIALIZED;
	default:
		return CUDA_ERROR_NO_DEVICE;
	}
}

/* Reports invalid values in the environment, once per process. */
static void tell_wrong_values(void)
{
	static bool told;
	char text[512];
	unsigned i;

	for (i = 0; !told && cot_emu_config_wrong(i, text, sizeof(text)); i++)
		cot_emu_complain("%s", text);
	told = true;
}

/*
 * The SMs that an MPS client with a share gets, and sees as the GPU's. Compute capability 9.0 gives
 * them out in pairs, and not fewer than eight; on an H200 with 132: 1 to 7 % are 8 SMs, 10 % are
 * 12, 50 % are 66.
 */
#define SMS_AT_LEAST 8u

static uint32_t sms_of_share(uint32_t all)
{
	const char *s = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	double pct = s ? strtod(s, NULL) : 100;
	uint32_t n;

	if (!(pct > 0 && pct < 100) || cot_emu_device_target() < 70 || all <= SMS_AT_LEAST)
		return all;
	n = (uint32_t)(all * pct / 100) & ~1u;
	return n > SMS_AT_LEAST ? n : SMS_AT_LEAST;
}

uint32_t cot_emu_connections(uint32_t fallback)
{
	const char *s = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	long n = s ? strtol(s, NULL, 10) : 0;

	return n >= 1 && n <= COT_EMU_CONNECTIONS ? (uint32_t)n : fallback;
}

static const char *reason(int err, bool own)
{
	switch (-err) {
	case EPERM:
		return own ? "it, or a file in it, belongs to another user; COTENANT_EMU_DIR names "
			     "another folder"
			   : "a file in it belongs to another user";
	case EPROTO:
		return "another version of the emulated GPU is using it, or its file has been cut "
		       "short";
	default:
		return strerror(-err);
	}
}

/* Why there is no machine, once for a process. In the child of a fork there is none by design. */
static void tell_no_machine(int err)
{
	static bool told;
	char path[PATH_MAX];
	bool own;

	if (!told && err != -EAGAIN && !cot_emu_config_dir(path, &own))
		cot_emu_complain("the machine in '%.500s' cannot be used: %s", path,
				 reason(err, own));
	told = true;
}

static CUresult initialise(void)
{
	CUresult result;
	int err = cot_emu_node_open();

	tell_wrong_values();
	if (!err)
		err = cot_emu_gpu_attach(&machine);
	if (err) {
		tell_no_machine(err);
		return result_of_attach(err);
	}
	read_visible((int)cot_emu_gpu_config(machine)->params.n_gpus);
	if (!n_visible)
		return CUDA_ERROR_NO_DEVICE;
	result = cot_emu_mps_probe(&under_mps);
	n_sms = cot_emu_gpu_config(machine)->params.n_sms;
	if (under_mps)
		n_sms = sms_of_share(n_sms);
	return result;
}

/*
 * What others have registered before us, such as the runtime's own end, comes after this, and finds
 * that CUDA is gone; no thread may wait then for a kernel that never ends.
 */
static void at_exit(void)
{
	if (atomic_load(&init_pid) == getpid())
		atomic_store(&ended, true);
}

bool cot_emu_ending(void)
{
	return atomic_load(&ended);
}

CUresult cot_emu_init(void)
{
	int pid = atomic_load(&init_pid);

	/* Before the lock, which a fork may have copied while it was taken. */
	if (pid && pid != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&init_lock);
	if (!atomic_load(&init_pid)) {
		init_result = initialise();
		/* If an MPS server accepts no client now, it may later. */
		if (init_result == CUDA_SUCCESS) {
			atomic_store(&init_pid, getpid());
			(void)atexit(at_exit);
		}
	}
	pthread_mutex_unlock(&init_lock);
	return init_result;
}

CUresult cot_emu_ready(void)
{
	if (atomic_load(&init_pid) != getpid())
		return CUDA_ERROR_NOT_INITIALIZED;
	return atomic_load(&ended) ? CUDA_ERROR_DEINITIALIZED : CUDA_SUCCESS;
}

struct cot_emu_gpu *cot_emu_machine(void)
{
	return machine;
}

int cot_emu_n_visible(void)
{
	return n_visible;
}

bool cot_emu_under_mps(void)
{
	return under_mps;
}

uint32_t cot_emu_n_sms(void)
{
	return n_sms;
}

int cot_emu_visible(CUdevice device)
{
	return device >= 0 && device < n_visible ? visible[device] : -1;
}
