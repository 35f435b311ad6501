/*
 * The emulated GPU as a pure model: clients, channel groups, channels and timed kernels, and one
 * engine per GPU that gives the groups of a run list the GPU in turns.
 *
 * Pure: time is an argument (nanoseconds of GPU time), nothing is allocated, no pointer is kept,
 * so a whole model may be copied byte by byte, lie in memory shared between processes, and be run
 * ahead to see what will happen. Not thread-safe; gpu/shared.h has the lock.
 *
 *   engine of one GPU:
 *
 *        +------ next group in the run list -------+
 *        v                                         |
 *       RUN --- slice over and others wait ---> LEAVE --- blocks have ended ---> SWITCH
 *        |      or preempted, or frozen                  (switch mode: at once)    ^
 *        +----- the group has nothing more to run, and another one has ------------+
 *
 * Inside one group all channels run together. A kernel asks for a share of the SMs, all of them or
 * its part; where the shares on an SM add up to more than there is, the kernels slow each other
 * down by that factor (gpu/load.h).
 */
#ifndef COT_EMU_GPU_MODEL_H
#define COT_EMU_GPU_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "cuda/abi/rm.h"
#include "emu/gpu/sms.h"

#define COT_EMU_MAX_GPUS     4u
#define COT_EMU_MAX_CLIENTS  128u
#define COT_EMU_MAX_GROUPS   512u
#define COT_EMU_MAX_CHANNELS 2048u
#define COT_EMU_MAX_KERNELS  1024u
/* Kernels that wait in one channel, as a ring of commands would hold. */
#define COT_EMU_MAX_QUEUED 32u

#define COT_EMU_NEVER	   UINT64_MAX
#define COT_EMU_WHOLE_GPU  1000u /* the demand of a kernel that fills the GPU */
#define COT_EMU_MAX_WORK   (1000ull * 1000 * 1000 * 1000) /* ns that one kernel may last */
#define COT_EMU_MAX_SLICE  (100ull * 1000 * 1000 * 1000)  /* ns */
#define COT_EMU_SLICE_NS   (1024ull * 1000)		  /* the resource manager's default */
#define COT_EMU_SWITCH_NS  (170ull * 1000) /* saving a context in the middle of blocks */
#define COT_EMU_DRAINED_NS (80ull * 1000)  /* changing the context when all blocks have ended */
/* What a kernel that really runs may take to stop; then it is off the GPU, whatever it does. */
#define COT_EMU_PARK_NS (50ull * 1000 * 1000)

enum cot_emu_engine_kind {
	COT_EMU_ENGINE_GRAPHICS, /* compute: on the run list of the model */
	COT_EMU_ENGINE_COPY,	 /* has settings, never has timed work */
};

enum cot_emu_kernel_state {
	COT_EMU_KERNEL_FREE,
	COT_EMU_KERNEL_QUEUED,
	COT_EMU_KERNEL_DONE,
	COT_EMU_KERNEL_FAULTED,
};

/* Names of things in a model. `serial` distinguishes a slot's users; 0 is none. */
struct cot_emu_group_id {
	uint32_t slot, serial;
};
struct cot_emu_channel_id {
	uint32_t slot, serial;
};
struct cot_emu_ticket {
	uint32_t slot, serial;
};

struct cot_emu_params {
	uint64_t switch_ns;  /* leaving with blocks in flight */
	uint64_t drained_ns; /* leaving between blocks */
	uint64_t idle_ns;    /* leaving with nothing left to run */
	uint32_t n_gpus;
	uint32_t n_sms;
};

struct cot_emu_client {
	uint32_t used;
	int32_t pid;
	uint64_t born; /* tells a process from a later one with the same pid */
};

struct cot_emu_group {
	uint32_t serial; /* 0: free */
	uint16_t client;
	uint8_t gpu;
	uint8_t engine;
	uint8_t faulted;
	uint8_t interleave;
	uint16_t n_channels;
	int32_t first_channel;
	uint32_t n_queued; /* kernels in all its channels */
	uint64_t slice_ns;
	uint64_t ran_ns;  /* time on the GPU with something to run */
	uint64_t n_turns; /* times it got the GPU */
	uint64_t n_left;  /* times it was off the GPU again */
};

struct cot_emu_channel {
	uint32_t serial; /* 0: free */
	uint16_t group;
	uint8_t mode; /* COT_NV_PREEMPTION_... */
	uint8_t disabled;
	uint8_t lingers; /* disabled, but may run until its group leaves the GPU */
	uint16_t n_queued;
	int32_t next; /* in its group */
	int32_t head, tail;
};

struct cot_emu_kernel {
	uint32_t serial; /* 0: free */
	uint8_t state;
	uint8_t traps;
	uint8_t open;	/* its length is not known: its owner says when it has ended */
	uint8_t parked; /* open: nothing of it runs */
	uint8_t fills;
	uint16_t client;
	uint16_t channel;
	uint16_t demand; /* of COT_EMU_WHOLE_GPU */
	int32_t next;
	struct cot_emu_ticket after; /* must have ended before; serial 0: none */
	uint64_t block_ns, total_ns, progress_ns;
	uint64_t submitted_ns, started_ns, ended_ns;
	struct cot_emu_sms sms; /* that it may use; none: all */
};

enum cot_emu_engine_state { COT_EMU_RUN, COT_EMU_LEAVE, COT_EMU_SWITCH };

struct cot_emu_engine {
	uint32_t state;
	uint32_t expelled;	 /* leave at the slice's end, even if no group waits */
	int32_t current;	 /* group on the GPU, -1: none */
	int32_t leaving;	 /* group whose context a switch saves, -1: none */
	uint32_t last;		 /* where the run list goes on */
	uint64_t leave_ns;	 /* since when it must leave */
	uint64_t since_ns;	 /* progress of kernels is right at this time */
	uint64_t slice_start_ns; /* while no group waits, the slice is renewed from here */
	uint64_t switch_end_ns;
	uint64_t n_switches;
	uint64_t busy_ns; /* that SMs have had work for, as if all were one */
};

struct cot_emu_model {
	struct cot_emu_params params;
	uint64_t now_ns;
	uint32_t last_serial; /* one counter: slots beyond the ones in use are not copied */
	uint32_t n_clients, n_groups, n_channels, n_kernels; /* slots in use end before these */
	struct cot_emu_engine engines[COT_EMU_MAX_GPUS];
	struct cot_emu_client clients[COT_EMU_MAX_CLIENTS];
	struct cot_emu_group groups[COT_EMU_MAX_GROUPS];
	struct cot_emu_channel channels[COT_EMU_MAX_CHANNELS];
	struct cot_emu_kernel kernels[COT_EMU_MAX_KERNELS];
};

struct cot_emu_work {
	uint64_t total_ns;	/* alone on the GPU */
	uint64_t block_ns;	/* one thread block; blocks of a kernel end together */
	uint32_t demand;	/* 1..COT_EMU_WHOLE_GPU: the share of the SMs that it may use */
	bool traps;		/* ends with a fault, which takes the whole group along */
	bool open;		/* lasts until cot_emu_model_end(); the times do not count */
	bool fills;		/* leaves no room on its SMs for another one that fills its own */
	struct cot_emu_sms sms; /* that it may use; none: all */
};

/* What an open kernel may do now. */
enum cot_emu_leave_to {
	COT_EMU_MAY_RUN,
	COT_EMU_MAY_DRAIN, /* finish the blocks that have begun */
	COT_EMU_MUST_STOP,
	COT_EMU_IS_OVER, /* it has ended, with a fault or by the owner's word */
};

struct cot_emu_outcome {
	enum cot_emu_kernel_state state;
	uint64_t submitted_ns, started_ns, ended_ns;
};

struct cot_emu_params cot_emu_params_default(void);
void cot_emu_model_init(struct cot_emu_model *m, const struct cot_emu_params *p, uint64_t now_ns);

/* Copies what is in use; the rest of *to stays as it was. */
void cot_emu_model_copy(struct cot_emu_model *to, const struct cot_emu_model *from);

/*
 * Lets everything happen that happens until now_ns (never goes back). Where the time is cut into
 * several calls makes no difference. All functions below act at the time of the last advance.
 */
void cot_emu_model_advance(struct cot_emu_model *m, uint64_t now_ns);

/* Brings progress and ran_ns, which are else booked at events only, up to the present. */
void cot_emu_model_book(struct cot_emu_model *m);

/* When something will happen next by itself, or COT_EMU_NEVER. */
uint64_t cot_emu_model_next(const struct cot_emu_model *m);

/* The lowest free slot from `first_slot` on, or -ENOSPC. */
int cot_emu_model_client_add(struct cot_emu_model *m, uint32_t first_slot, int32_t pid,
			     uint64_t born, uint32_t *ret_client);
/* The client is gone, and with it its kernels and groups. */
void cot_emu_model_client_drop(struct cot_emu_model *m, uint32_t client);
/* Does this client own work that others could have to wait for? */
bool cot_emu_model_client_busy(const struct cot_emu_model *m, uint32_t client);

int cot_emu_model_group_add(struct cot_emu_model *m, uint32_t client, uint32_t gpu,
			    enum cot_emu_engine_kind engine, struct cot_emu_group_id *ret_group);
/* Kernels of others in this group end as faulted. Its channels go with it. */
int cot_emu_model_group_free(struct cot_emu_model *m, struct cot_emu_group_id group);
int cot_emu_model_channel_add(struct cot_emu_model *m, struct cot_emu_group_id group,
			      struct cot_emu_channel_id *ret_channel);
int cot_emu_model_channel_free(struct cot_emu_model *m, struct cot_emu_channel_id channel);

/* NULL for a name that is no longer valid. */
const struct cot_emu_group *cot_emu_model_group(const struct cot_emu_model *m,
						struct cot_emu_group_id group);
const struct cot_emu_channel *cot_emu_model_channel(const struct cot_emu_model *m,
						    struct cot_emu_channel_id channel);
struct cot_emu_group_id cot_emu_model_group_of(const struct cot_emu_model *m,
					       struct cot_emu_channel_id channel);

/*
 * What a process writes to ring a channel's doorbell: a number that another process can be given.
 * It names the slot and the low bits of the serial.
 */
uint32_t cot_emu_channel_token(struct cot_emu_channel_id channel);
/* serial 0: no such channel, or it is gone */
struct cot_emu_channel_id cot_emu_model_token_channel(const struct cot_emu_model *m,
						      uint32_t token);

/* 0, -ENOENT for an old name, -EINVAL for a value out of range. */
int cot_emu_model_set_slice(struct cot_emu_model *m, struct cot_emu_group_id group,
			    uint64_t slice_ns);
int cot_emu_model_set_interleave(struct cot_emu_model *m, struct cot_emu_group_id group,
				 uint32_t level);
int cot_emu_model_set_mode(struct cot_emu_model *m, struct cot_emu_channel_id channel,
			   uint32_t mode);
/*
 * Holds the channel off the GPU or lets it back. A channel that runs leaves at once (in its
 * mode), or, with only_scheduling, when its group's slice ends.
 */
int cot_emu_model_disable(struct cot_emu_model *m, struct cot_emu_channel_id channel, bool disable,
			  bool only_scheduling);
/* Sends the group to the end of the run list if it is on the GPU. */
int cot_emu_model_preempt(struct cot_emu_model *m, struct cot_emu_group_id group);
/* Is the group on the GPU, or still leaving it? */
bool cot_emu_model_resident(const struct cot_emu_model *m, struct cot_emu_group_id group);
/* The same for a channel that has been disabled. */
bool cot_emu_model_channel_resident(const struct cot_emu_model *m,
				    struct cot_emu_channel_id channel);

/*
 * Puts a kernel behind those of the channel. `after` (serial 0: nothing) must end first.
 * -ENOENT: the channel is gone; -EIO: its group has faulted; -EAGAIN: full, wait for an end;
 * -EINVAL: work out of range. The submitter releases the ticket when it has seen the outcome.
 */
int cot_emu_model_submit(struct cot_emu_model *m, struct cot_emu_channel_id channel,
			 uint32_t client, const struct cot_emu_work *work,
			 struct cot_emu_ticket after, struct cot_emu_ticket *ret_ticket);
/*
 * Open kernels are computed by threads of their owner. They run while this says so; the owner tells
 * when all of them have stopped (park), and tells before they go on again. A group leaves the GPU
 * when its open kernels are parked, in the modes `drain` and `idle` as late as that may be.
 */
enum cot_emu_leave_to cot_emu_model_leave_to(const struct cot_emu_model *m,
					     struct cot_emu_ticket ticket);
void cot_emu_model_park(struct cot_emu_model *m, struct cot_emu_ticket ticket, bool parked);
/* Its last thread has ended; a fault takes the whole group along. */
void cot_emu_model_end(struct cot_emu_model *m, struct cot_emu_ticket ticket, bool faulted);
/* Is there an open kernel? Then a change by one program is news for others. */
bool cot_emu_model_has_open(const struct cot_emu_model *m);

/* state FREE: the ticket is not valid, or no longer. */
struct cot_emu_outcome cot_emu_model_outcome(const struct cot_emu_model *m,
					     struct cot_emu_ticket ticket);
/* Forgets a kernel that has ended; one that has not is taken out of its channel. */
void cot_emu_model_release(struct cot_emu_model *m, struct cot_emu_ticket ticket);

#endif
