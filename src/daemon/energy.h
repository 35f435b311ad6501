/*
 * The energy that GPUs and programs have taken, and what processes have of GPUs' memory. A process
 * reads NVML's counters (meter/meter.h), ten times a second while programs are registered, and once
 * a second who has memory; where there is no NVML, that is said, and nothing else changes.
 *
 * What a GPU took between two steps of its counter is divided among the programs that could use it
 * meanwhile, in proportion to SMs times time: the SMs of its part, or all. Held and frozen
 * programs, and idle ones as far as that is known, have no time. The core adds the time up at each
 * change (cot_sched_ran()), for turns are shorter than the time between two looks. Where nobody
 * has time, the energy is nobody's, as what it took while no program was registered. The share has
 * the power of the idle GPU in it.
 */
#ifndef COT_DAEMON_ENERGY_H
#define COT_DAEMON_ENERGY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/gpus.h"
#include "daemon/loop.h"
#include "meter/meter.h"
#include "sched/sched.h"

struct basis;
struct roster;
struct tenant;

/* Of a program. */
struct cot_energy_share {
	double joules;
	double ran_s;		      /* how long it could use a GPU */
	double waiting[COT_GPUS_MAX]; /* SM-seconds since the counter's last step */
	double look_s;		      /* of ran_s: between the last two looks */
	struct cot_ran counted;	      /* of the core's sums: in the above */
	uint32_t gang, in;	      /* its gang's number, or 0; that one's entry */
};

#define COT_ENERGY_GANGS_MAX 16u

/* Of programs that were a gang together, of the policy that has some; also before, for a while. */
struct cot_energy_gang {
	unsigned gpu;
	uint32_t n;	      /* programs; 0: no entry */
	uint64_t members;     /* a hash of who they are */
	char names[96];	      /* with + between them, cut to this */
	double joules;	      /* the sum of their shares meanwhile */
	double seconds;	      /* that the one of them could run that could longest */
	double look_s;	      /* of these: between the last two looks */
	uint32_t predicted_w; /* by the policy, of the GPU with this gang; 0: not known */
	uint64_t seen_ns;     /* when the gang was there last */
};

struct cot_energy_gpu {
	bool known;
	bool rested; /* nobody looked for a while: the next step is nobody's */
	uint64_t begin_mj, last_mj;
	uint64_t begin_ns, last_ns; /* of the counter's first and last step that were seen */
	double nobody_j;
	uint32_t power_mw;
};

struct energy {
	struct basis *basis;
	struct roster *roster;
	struct cot_source source; /* fd < 0: there is no process */
	struct cot_timer timer;
	pid_t pid; /* 0: none */
	bool asked, tried;
	char why_not[128]; /* nothing is measured */
	struct cot_energy_gpu gpu[COT_GPUS_MAX];
	uint32_t n_looks;
	uint32_t n_processes; /* that have memory, as of the last time that NVML said it */
	struct cot_meter_process process[COT_METER_PROCESSES_MAX];
	uint64_t memory_bytes[COT_GPUS_MAX]; /* of each GPU, as NVML says; 0: not known */
	struct cot_energy_gang gangs[COT_ENERGY_GANGS_MAX];
};

/* A program has come. */
void cot_energy_begin(struct energy *e);
/* A child has ended. */
void cot_energy_reap(struct energy *e);
/* The daemon ends. */
void cot_energy_end(struct energy *e);

/* ---- energy_gangs.c ---- */

/* Which programs are a gang now; their times since the last look are counted. */
void cot_energy_gangs_look(struct energy *e, uint64_t now_ns);
/* The program's share of a step of the counter. */
void cot_energy_gangs_take(struct energy *e, const struct tenant *t, double joules);

#endif
