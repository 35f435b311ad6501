/* What the files of cotenant-backend share. One thread; one GPU; programs of one user.
 *
 *     main.c    options, the socket, who else is there
 *     serve.c   waits for programs, takes their launches, and their messages
 *     client.c  a program: its page, its memory, its code
 *     code.c    modules and kernels, and two kernels in one
 *     launch.c  from launches that go together to one launch
 */
#ifndef COT_BACKEND_SERVER_SERVER_H
#define COT_BACKEND_SERVER_SERVER_H

#include "backend/backend.h"
#include "backend/gather.h"
#include "base/error.h"
#include "cotenant/passes.h"
#include "cuda/driver.h"

#define BACKEND_CHUNKS	   2048u
#define BACKEND_PARAMS_MAX 64u
/* What programs leave behind in a backend, as they come and go. */
#define BACKEND_TEXTS_MAX   (256u << 20) /* bytes */
#define BACKEND_CODES_MAX   1024u
#define BACKEND_KERNELS_MAX 4096u
#define BACKEND_PAIRS_MAX   256u

struct backend_code;

struct backend_param {
	uint32_t at, bytes;
};

/* A kernel of a text. Never freed. */
struct backend_kernel {
	struct backend_kernel *next;
	struct backend_code *code;
	char name[COT_BACKEND_NAME];
	enum cot_backend_why why; /* it is not merged */
	struct cot_batch_shape shape;
	uint32_t n_params, params_bytes;
	struct backend_param params[BACKEND_PARAMS_MAX];
	CUfunction alone, batch;
};

/* Two kernels in one grid; kept, also when it cannot be. */
struct backend_pair {
	struct backend_pair *next;
	const struct backend_kernel *first, *second;
	CUfunction function; /* NULL: none */
};

struct backend_chunk {
	uint64_t at, bytes;
	CUmemGenericAllocationHandle handle;
};

struct backend_client {
	int fd;	      /* -1: free, unless it is `gone` */
	bool welcome; /* it has said who it is */
	bool gone;    /* its work is still to end */
	bool reserved;
	int wake; /* it is rung when a launch is there while we sleep; -1: none */
	int pid;
	uint64_t since_ns; /* that it is connected */
	struct cot_backend_page *page;
	CUdeviceptr page_on_gpu;
	uint64_t number; /* of its last launch */
	uint64_t last;	 /* of the backend's numbers: the last one with a launch of it */
	struct backend_code *modules[COT_BACKEND_MODULES];
	struct backend_kernel *kernels[COT_BACKEND_KERNELS];
	struct backend_chunk chunks[BACKEND_CHUNKS];
	uint32_t n_chunks;
};

struct backend {
	struct cot_driver cuda;
	CUcontext context;
	CUstream stream;
	CUdevice device;
	unsigned char gpu[16];
	uint32_t n_sms;
	const char *pool;
	uint64_t window_ns, idle_ns;
	bool always;
	int listener, epoll;
	struct cot_backend_page *own; /* `done` counts the backend's numbers */
	CUdeviceptr own_on_gpu;
	uint64_t number;
	struct cot_gather gather;
	struct backend_client clients[COT_BACKEND_CLIENTS];
	uint64_t n_merged, n_merges, n_back, n_refused;
};

uint64_t backend_now_ns(void);
void backend_say(const char *format, ...) COT_PRINTF(1, 2);

/* ---- serve.c ---- */

/* Serves until nobody has been there for idle_ns, or a launch has failed. The exit status. */
int cot_backend_serve(struct backend *b);

/* ---- client.c ---- */

/* Memory of both, which the GPU writes to. -1: none. */
int cot_backend_page_make(struct backend *b, struct cot_backend_page **ret,
			  CUdeviceptr *ret_on_gpu);
void cot_backend_client_accept(struct backend *b);
/* A message is there, or the end. */
void cot_backend_client_read(struct backend *b, struct backend_client *c);
void cot_backend_client_leave(struct backend *b, struct backend_client *c);
/* What those that have left had, once their launches have ended. */
void cot_backend_clients_clear(struct backend *b);
/* Sees those off that do not say who they are. */
void cot_backend_clients_wait(struct backend *b, uint64_t now_ns);
uint32_t cot_backend_clients_count(const struct backend *b);

/* ---- code.c ---- */

/* The text's; the same one for the same text. Takes over `text`. NULL: out of memory, or there are
 * too many. */
struct backend_code *cot_backend_code_of(struct backend *b, char *text, size_t bytes);
struct backend_kernel *cot_backend_kernel_of(struct backend *b, struct backend_code *code,
					     const char *name);
/* The pair in either order. NULL: nobody has asked for it before; see cot_backend_pair_make(). */
const struct backend_pair *cot_backend_pair_find(const struct backend_kernel *a,
						 const struct backend_kernel *b);
/* May take as long as a compiler. */
void cot_backend_pair_make(struct backend *b, const struct backend_kernel *first,
			   const struct backend_kernel *second);

/* ---- launch.c ---- */

/* Decides about the oldest launch, and those that go with it. False: the GPU has failed. */
bool cot_backend_decide(struct backend *b);
/* Whether all of its launches have ended. */
bool cot_backend_is_idle(const struct backend *b);
/* The error of a launch that failed; 0: none has. */
CUresult cot_backend_failed(struct backend *b);
/* Tells those whose launches were in it. */
void cot_backend_tell_fault(struct backend *b, CUresult fault);

#endif
