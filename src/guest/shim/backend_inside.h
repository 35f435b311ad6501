/* What the files of backend.h share. */
#ifndef COT_GUEST_SHIM_BACKEND_INSIDE_H
#define COT_GUEST_SHIM_BACKEND_INSIDE_H

#include <pthread.h>

#include "backend/backend.h"
#include "guest/shim/backend.h"
#include "guest/shim/code.h"
#include "guest/shim/counts.h"
#include "guest/shim/rewrite.h"
#include "guest/shim/wait.h"

struct cot_shim_attached {
	struct cot_backend_page *page;
	CUdeviceptr page_on_gpu;
	int socket, wake; /* of the descriptors that are ours alone */
	uint32_t client;
	CUcontext context; /* the one that it has first been asked for in */
	CUdevice device;
	uint64_t n_sent;	    /* messages; under the lock */
	_Atomic uint64_t last;	    /* the highest number that a stream waits for */
	_Atomic uint32_t n_waiting; /* launches that are posted, and of which it is not known what
				       becomes of them */
};

extern struct cot_shim_attached cot_shim_attached;
extern pthread_mutex_t cot_shim_backend_lock;

/* With the first launch or allocation. */
void cot_shim_backend_begin(void);
/* Whether there is a backend; the first call looks for it, in the current context. */
bool cot_shim_backend_is_there(void);
/* The same, without looking for it. */
bool cot_shim_backend_is_attached(void);
/* It is no longer there, for this program. */
void cot_shim_backend_lose(const char *why);
/* After lose(): streams that wait for what does not come go on, and the program hears of it. */
void cot_shim_backend_settle(void);
/* With the lock: sends a message, with the descriptor unless it is -1. False: it is lost. */
bool cot_shim_backend_send(struct cot_backend_message *m, int fd);

/* The backend's number for the kernel. COT_SHIM_WHY_NOT, or why it cannot be handed over now. */
enum cot_shim_why cot_shim_backend_kernel(const struct cot_shim_ref *ref, uint32_t *ret_kernel);
/* How the backend's reasons are counted. */
enum cot_shim_why cot_shim_backend_why(enum cot_backend_why why);

/* Whether all that may be addresses among the arguments are of memory that the backend has. */
bool cot_shim_backend_has_memory(const struct cot_shim_kernel *k, const unsigned char *params);
void cot_shim_backend_memory_forget(void);
/* ---- backend_cost.c ---- */

#define COT_SHIM_COSTS_KEPT 7u /* so many are known before anything is judged */

/* What a launch has taken that the program made itself, of a kernel that was loaded before, and one
 * that was handed over, whatever became of it. The first returns the median, 0: not known yet. */
uint32_t cot_shim_backend_cost_own(uint64_t ns);
void cot_shim_backend_cost_hand(uint64_t ns);
/* Whether handing over may take less than launching, or is to be tried. */
bool cot_shim_backend_can_pay(void);
void cot_shim_backend_cost_say(void);

/* ---- after fork() ---- */

void cot_shim_backend_launch_forget(void);
void cot_shim_backend_code_forget(void);

#endif
