/*
 * What the daemon, the library, the command line, the simulator and policies have in common: times,
 * bounds, classes, modes, shares, targets, times of requests and counts of launches. Part of
 * policy.h; constants and plain structs only.
 */
#ifndef COTENANT_WORDS_H
#define COTENANT_WORDS_H

#include <stdint.h>

#define COT_NEVER UINT64_MAX

#define COT_NS_PER_US 1000ull
#define COT_NS_PER_MS 1000000ull
#define COT_NS_PER_S  1000000000ull

/* Shortest and longest slice that an entity may get. The H200 accepts 20 us and 10 ms. */
#define COT_SLICE_US_MIN 20u
#define COT_SLICE_US_MAX 100000u
/* The slice that the driver chose itself. */
#define COT_SLICE_DRIVER 0u

#define COT_WEIGHT_MIN	   1u
#define COT_WEIGHT_DEFAULT 100u
#define COT_WEIGHT_MAX	   10000u

/* Longest thread block that a user may state. */
#define COT_BLOCK_US_MAX 1000000000u

/* The longest pace: how much may be launched ahead of the GPU. */
#define COT_PACE_US_MAX 1000000u

/* Most SMs that a GPU may have, and most CapSMs that a work may get in all. */
#define COT_SMS_MAX    1024u
#define COT_CAPSMS_MAX (1u << 20)

enum cot_class {
	COT_CLASS_LATENCY, /* answers requests: should find the GPU free */
	COT_CLASS_BATCH,   /* wants throughput */
};

/* How the hardware takes an entity off the GPU when its slice ends. */
enum cot_mode {
	COT_MODE_DRIVER, /* as the driver has it; where a mode can be chosen: none was */
	COT_MODE_DRAIN,	 /* lets the running thread blocks end: cheap when blocks are short */
	COT_MODE_SWITCH, /* saves what is on the SMs, anywhere in a block: costly but prompt */
};

/* A part of a GPU: a number of its SMs, or a percentage of them. Both 0: no share was given. */
struct cot_share {
	uint16_t sms, pct;
};

/* What a user wants of a program. COT_TARGET_NONE with amount 0: nothing was said. */
enum cot_target_kind {
	COT_TARGET_NONE,
	COT_TARGET_P99,	     /* 99 % of its requests take at most `amount` us, from their arrival */
	COT_TARGET_SLOWDOWN, /* the same, at most amount/1000 of its p99 alone on the GPU */
	COT_TARGET_RATE,     /* it gets on at no less than amount/1000 of its rate alone */
};
struct cot_target {
	enum cot_target_kind kind;
	uint32_t amount;
};

#define COT_TARGET_P99_US_MAX	    3600000000u
#define COT_TARGET_SLOWDOWN_PML_MIN 1000u
#define COT_TARGET_SLOWDOWN_PML_MAX 1000000u
#define COT_TARGET_RATE_PML_MAX	    1000u

/* What is to be little, and how long whoever begins may be held for it (`consolidate`). */
enum cot_aim { COT_AIM_ENERGY, COT_AIM_TIME };
#define COT_GATHER_NS_MAX COT_NS_PER_S

#define COT_POWER_W_MAX 100000u

/* What a program costs that repeats something, as energy and elsewhere. 0: not known. */
struct cot_cost {
	uint32_t power_w; /* the GPU draws that while the program runs alone on all of it */
	uint32_t cpu_w;	  /* the CPU, while it does the same */
	uint64_t cpu_ns;  /* in which it does what takes so long on all of the GPU as predicted */
};

/* How far back a window of request times looks. */
enum cot_horizon {
	COT_HORIZON_1S,
	COT_HORIZON_10S,
	COT_HORIZON_60S,
	COT_N_HORIZONS,
};

/* Requests that ended within a window, and how long they took. Without any (n == 0) all is 0. */
struct cot_times {
	uint64_t n;
	uint64_t n_missed; /* took longer than the target was when they ended */
	uint64_t p50_ns, p95_ns,
		p99_ns; /* nearest rank; see src/metrics/requests.h for the error */
};

/* How fast a tenant gets on, to be compared with itself: no two programs launch the same. */
struct cot_launches {
	uint64_t n; /* of kernels, that ended within the last span_ns */
	uint64_t span_ns;
	uint64_t at_ns; /* when it was delivered; 0 = never. The core fills it in */
	/*
	 * Of a tenant whose requests are measured: how often a thread of it waited for the GPU
	 * meanwhile, and how long, all together. What a request takes and is not waited for is
	 * its program's own time. 0, 0: not known, or it learns of the end in other ways.
	 */
	uint64_t n_waits, waited_ns;
};

#endif
