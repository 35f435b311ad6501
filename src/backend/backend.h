/*
 * What programs and a backend (cotenant-backend) have in common: numbers in memory that both have,
 * and messages. A backend is one process that makes one launch of launches of several programs.
 * Pure: no sockets, no clock, no driver. docs/backend.md says how it is used.
 *
 * A launch is posted in a slot of the program's page:
 *
 *             post              take              begin               launched
 *     FREE ----------> POSTED ---------> TAKEN ----------> LAUNCHING ----------> LAUNCHED
 *       ^                |  give back      |  give back        |                     |
 *       |                v                 v                   |                     |
 *       |               BACK <-------------+                   |                     |
 *       +--- clear ------+----- withdraw: POSTED or TAKEN -----+------- clear -------+
 *
 * The program may withdraw a launch until the backend has begun to make it: then it makes it
 * itself. Each change is one exchange of the whole word, with the number of the launch in it, so
 * that of a backend and a program that both change a slot one fails, and knows it.
 */
#ifndef COT_BACKEND_BACKEND_H
#define COT_BACKEND_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COT_BACKEND_VERSION	2u
#define COT_BACKEND_CLIENTS	16u
#define COT_BACKEND_SLOTS	16u /* launches of a program at a time */
#define COT_BACKEND_MODULES	64u
#define COT_BACKEND_KERNELS	256u
#define COT_BACKEND_PARAMS	1024u /* bytes of a launch's arguments */
#define COT_BACKEND_NAME	512u  /* of a kernel, with its zero */
#define COT_BACKEND_TEXT_MAX	(32u << 20)
#define COT_BACKEND_BLOCKS_MAX	65535u
#define COT_BACKEND_THREADS_MAX 1024u

/* Each program's memory is in a window of addresses that is free in it and in the backend. On an
 * H200 all of 64 GiB from 128 GiB to 112 TiB but those at 1 TiB were
 * (results/h200/2026-11-23/backend). */
#define COT_BACKEND_BASE	 0x200000000000ull
#define COT_BACKEND_WINDOW_BYTES (64ull << 30)
#define COT_BACKEND_CHUNK_BYTES	 (2ull << 20) /* addresses and sizes of chunks are multiples */

static inline uint64_t cot_backend_window(uint32_t client)
{
	return COT_BACKEND_BASE + client * COT_BACKEND_WINDOW_BYTES;
}

/* ---- the page ---- */

enum cot_backend_state {
	COT_BACKEND_FREE,
	COT_BACKEND_POSTED,
	COT_BACKEND_TAKEN,
	COT_BACKEND_LAUNCHING,
	COT_BACKEND_LAUNCHED,
	COT_BACKEND_BACK,
};

/* Why a launch came back, or a kernel cannot be merged. */
enum cot_backend_why {
	COT_BACKEND_WHY_NOT,
	COT_BACKEND_WHY_ALONE,	  /* no other program had one that goes with it */
	COT_BACKEND_WHY_WORSE,	  /* by the model */
	COT_BACKEND_WHY_REFUSED,  /* the driver did not take the merged launch */
	COT_BACKEND_WHY_KERNEL,	  /* no pass takes it, or its code did not load */
	COT_BACKEND_WHY_VARIABLE, /* it uses variables of its module, which the backend has anew */
	COT_BACKEND_WHY_POINTERS, /* it may follow pointers that it finds in memory */
	COT_BACKEND_N_WHYS,
};

struct cot_backend_launch {
	uint32_t kernel; /* the program's number for it */
	uint32_t grid[3], block[3];
	uint32_t params_bytes;
	_Alignas(16) unsigned char params[COT_BACKEND_PARAMS];
};

struct cot_backend_slot {
	_Atomic uint64_t word;	 /* the launch's number times 8, and the state */
	_Atomic uint32_t why;	 /* BACK */
	_Atomic uint32_t n;	 /* LAUNCHED: launches in the merged one, and ... */
	_Atomic uint64_t number; /* ... what `done` is when it has ended */
	struct cot_backend_launch launch;
};

/* Each program's own; made by the backend. */
struct cot_backend_page {
	_Alignas(64) _Atomic uint64_t done; /* written by the GPU, in order */
	_Alignas(64) _Atomic uint64_t beat; /* grows while the backend is at work */
	_Atomic uint64_t n_handled;	    /* of the program's messages */
	_Atomic uint32_t asleep;	    /* the backend must be woken */
	_Atomic uint32_t n_others;	    /* programs that are attached besides */
	_Atomic uint32_t fault;		    /* CUresult of a merged launch of this program's */
	_Atomic uint32_t own_ns; /* what a launch takes that the program makes itself; 0: unknown */
	/* 0: not known yet; 1: it may be posted; above: 1 + enum cot_backend_why. */
	_Atomic uint8_t kernels[COT_BACKEND_KERNELS];
	struct cot_backend_slot slots[COT_BACKEND_SLOTS];
};

/* Of its mapping: whole pages, as drivers like it. */
#define COT_BACKEND_PAGE_BYTES ((sizeof(struct cot_backend_page) + 4095) / 4096 * 4096)

/* `done` when nothing is to be waited for any longer: the backend is gone. */
#define COT_BACKEND_DONE_ALL (UINT64_MAX >> 1)

static inline enum cot_backend_state cot_backend_state_of(uint64_t word)
{
	return (enum cot_backend_state)(word & 7);
}

/* ---- slots: the program's side ---- */

/* Its index, with the launch filled in and posted; -1: none is free. `word` is for what follows. */
int cot_backend_post(struct cot_backend_page *page, const struct cot_backend_launch *launch,
		     uint64_t *ret_word);
/* True: the launch is the program's again, and the slot is free. False: it is too late. */
bool cot_backend_withdraw(struct cot_backend_slot *slot, uint64_t posted);
/* After LAUNCHED or BACK has been read. */
void cot_backend_clear(struct cot_backend_slot *slot, uint64_t posted);
/* The state of that launch. */
enum cot_backend_state cot_backend_look(const struct cot_backend_slot *slot, uint64_t posted);

/* ---- slots: the backend's side ---- */

/* A copy of a posted launch that is sound, else it goes back. `word` is for what follows. */
bool cot_backend_take(struct cot_backend_slot *slot, struct cot_backend_launch *ret_launch,
		      uint64_t *ret_word);
bool cot_backend_begin(struct cot_backend_slot *slot, uint64_t taken);
void cot_backend_launched(struct cot_backend_slot *slot, uint64_t taken, uint64_t number,
			  uint32_t n);
void cot_backend_give_back(struct cot_backend_slot *slot, uint64_t taken, enum cot_backend_why why);
/* Whether numbers, sizes and shapes are possible ones. */
bool cot_backend_launch_is_sound(const struct cot_backend_launch *launch);
/* What the launch has in blocks. */
uint32_t cot_backend_blocks(const struct cot_backend_launch *launch);

/* ---- messages, one a packet ----
 *
 * The program says HELLO, the backend WELCOME, with two descriptors: the page and an eventfd that
 * wakes the backend. From then on only the program sends, and waits for no answer. */
enum cot_backend_type {
	COT_BACKEND_HELLO = 1,
	COT_BACKEND_WELCOME,
	COT_BACKEND_MODULE, /* with a descriptor: its PTX */
	COT_BACKEND_KERNEL,
	COT_BACKEND_MAP, /* with a descriptor: physical memory */
	COT_BACKEND_UNMAP,
};

struct cot_backend_message {
	uint32_t type, version;
	union {
		struct {
			unsigned char gpu[16]; /* the UUID */
			char pool[256];	       /* CUDA_MPS_PIPE_DIRECTORY, or empty */
		} hello;
		struct {
			uint32_t client; /* which window is its */
			uint32_t page_bytes;
		} welcome;
		struct {
			uint32_t module, bytes;
		} module;
		struct {
			uint32_t kernel, module;
			char name[COT_BACKEND_NAME];
		} kernel;
		struct {
			uint64_t at, bytes;
		} memory;
	};
};

/* Whether `bytes` are a message that a program may send; `window`: where its memory may be, 0
 * before WELCOME. */
bool cot_backend_message_is_sound(const struct cot_backend_message *m, size_t bytes,
				  uint64_t window);
/* Whether it comes with a descriptor. */
bool cot_backend_message_has_fd(const struct cot_backend_message *m);

#endif
