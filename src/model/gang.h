/*
 * Whether programs should run together, judged by how long they take on parts of several sizes
 * (what a profile measures), not by counts of their kernels as in consolidate.h: so also for
 * programs whose kernels nobody can look into. A *gang* are two to COT_GANG_MAX of them that run
 * together. Pure; see model.h.
 *
 * A gang is judged against its programs one after the other on all of the GPU, as in the patent's
 * Fig. 4, and against each alone on the CPU, if it could run there. Of the two ways to run together
 * the shorter one counts:
 *
 *  - on *parts* in proportion: each unit goes to the program that would end last;
 *  - *shared*: all on all SMs, as MPS lets them. A program then takes SMs from the others that it
 *    makes good use of: the fewest with which it is as fast as alone, within COT_GANG_AS_FAST.
 *
 * Both last at least as long as what all move takes at the memory's bandwidth, and as what all draw
 * takes at the GPU's power limit: it lowers its clocks rather than draw more. Together programs do
 * the same work, so energy is base_w times the time, and what each draws beyond base_w as when it
 * runs alone (equation 11 with constant counts).
 */
#ifndef COT_MODEL_GANG_H
#define COT_MODEL_GANG_H

#include "model/consolidate.h"

#define COT_GANG_MAX	      COT_MODEL_MIXED_MAX
#define COT_GANG_UNITS_MAX    32u
#define COT_GANG_PROGRAMS_MAX 8u   /* in a plan */
#define COT_GANG_AS_FAST      1.03 /* laius and smqos take a thirtieth as nothing, too */

enum cot_gang_way {
	COT_GANG_ALONE,
	COT_GANG_PARTS,
	COT_GANG_SHARED,
	COT_GANG_CPU, /* alone; the CPU would take less */
};

struct cot_gang_program {
	/* What it has to do takes so long on 1, 2, ... units, with nobody beside it; more than 0,
	 * and never longer on more units. */
	double time_s[COT_GANG_UNITS_MAX];
	double bytes;  /* that it moves meanwhile to and from the GPU's memory; 0: not known */
	double more_j; /* the energy that it takes beyond base_w; 0: not known, and none counts */
	double cpu_s, cpu_j; /* the same work on the CPU; 0: cannot be done there */
};

struct cot_gang_gpu {
	uint32_t n_units;   /* 1 to COT_GANG_UNITS_MAX */
	double bytes_per_s; /* 0: not known */
	double base_w;	    /* drawn while programs run, whatever they do */
	double limit_w;	    /* drawn at most; base_w or less: not known */
	enum cot_model_aim aim;
	double min_gain; /* together must take less than (1 - min_gain) of each where it is best */
};

struct cot_gang {
	enum cot_gang_way way;
	uint32_t set;			       /* the programs, one bit each */
	uint32_t n;			       /* how many */
	uint32_t units[COT_GANG_PROGRAMS_MAX]; /* PARTS: of each program of the set */
	double seconds, energy_j;	       /* of the way */
	double apart_s, apart_j;	       /* one after the other on all units */
	double parts_s, shared_s;	       /* sets of two and more */
	double saved; /* of what each takes where it is best: 0 to 1, by the aim */
};

/* `set` has 1 to COT_GANG_MAX of the programs. Which way, alone if together takes no less. */
void cot_gang_judge(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		    uint32_t set, struct cot_gang *ret_gang);

/*
 * Greedy, as cot_model_plan(): the gang that saves most, then the best of the rest, until none
 * saves; then each alone. n is 1 to COT_GANG_PROGRAMS_MAX. Returns how many gangs.
 */
uint32_t cot_gang_plan(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		       uint32_t n, struct cot_gang ret_gangs[COT_GANG_PROGRAMS_MAX]);

#endif
