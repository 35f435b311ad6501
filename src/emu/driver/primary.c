/* The primary context of each device, which programs share with the libraries that they use. */
#include "emu/driver/inside.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned flags_of[COT_EMU_MAX_GPUS]; /* under the lock */

CUresult cot_emu_primary_retain(CUdevice device, struct cot_emu_context **ret_context)
{
	CUresult result = CUDA_SUCCESS;
	struct cot_emu_context *c;

	pthread_mutex_lock(&lock);
	c = cot_emu_context_primary(device);
	if (!c)
		result = cot_emu_context_make(device, 0, &c);
	if (!result) {
		c->primary = true;
		c->n_refs++;
		*ret_context = c;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* With the lock held. */
static void drop(struct cot_emu_context *c)
{
	c->primary = false;
	cot_emu_current_forget(c);
	cot_emu_context_free(c);
}

CUresult cot_emu_primary_release(CUdevice device)
{
	CUresult result = CUDA_SUCCESS;
	struct cot_emu_context *c;

	pthread_mutex_lock(&lock);
	c = cot_emu_context_primary(device);
	if (!c)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (!--c->n_refs)
		drop(c);
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult cot_emu_primary_reset(CUdevice device)
{
	struct cot_emu_context *c;

	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	c = cot_emu_context_primary(device);
	if (c)
		drop(c);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

unsigned cot_emu_primary_flags(CUdevice device)
{
	unsigned flags;

	pthread_mutex_lock(&lock);
	flags = flags_of[device];
	pthread_mutex_unlock(&lock);
	return flags;
}

void cot_emu_primary_set_flags(CUdevice device, unsigned flags)
{
	pthread_mutex_lock(&lock);
	flags_of[device] = flags;
	pthread_mutex_unlock(&lock);
}
