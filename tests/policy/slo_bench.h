/*
 * A pretended GPU for tests of the policy `slo`: requests take as long as the arrangement that the
 * policy has chosen makes them, and windows of them are delivered as by a host.
 */
#ifndef COT_TESTS_SLO_BENCH_H
#define COT_TESTS_SLO_BENCH_H

#include "base/rng.h"
#include "metrics/requests.h"
#include "policy/policy_bench.h"
#include "policy/slo.h"

enum { SERVER = 1, TRAIN = 10, LATENCY_POOL = 100, BATCH_POOL = 101 };

struct slo_bench {
	struct bench *b;
	struct cot_requests *requests; /* of SERVER */
	struct cot_rng rng;
	uint64_t alone_ns; /* of a request */
	uint64_t gap_ns;   /* between two requests; 0: there are none */
	uint64_t next_ns;
	/* How much longer requests are than alone, as things are now. */
	double (*slowdown)(const struct slo_bench *sb);
	double load;	      /* for `slowdown` */
	uint64_t n, n_missed; /* since slo_bench_count() */
	uint64_t target_ns;
	uint64_t last_missed_ns;
	uint64_t n_changes; /* of what requests feel, since slo_bench_count() */
	double was;
	bool mute;     /* no window is delivered */
	bool nameless; /* programs that join have no key, so nothing is learned of them */
	/* Kernels a second of the batch program TRAIN + i alone; on fewer SMs as much less. */
	uint64_t kernels[8];
	uint64_t launches; /* kernels that a request of SERVER launches; 0: they are not counted */
	double waits;	   /* of its requests' time SERVER waits for the GPU; 0: nobody says */
	uint64_t next_count_ns;
};

struct slo_bench *slo_bench_begin(void);
void slo_bench_end(struct slo_bench *sb);

/* SERVER with a p99 in us, in its pool. */
void slo_bench_server(struct slo_bench *sb, uint32_t p99_us);
/* The same, outside the pools. */
void slo_bench_solo(struct slo_bench *sb, uint32_t p99_us);
/* Another latency program, of which no windows come. */
void slo_bench_other(struct slo_bench *sb, uint32_t id, uint32_t pool, uint32_t p99_us);
void slo_bench_batch(struct slo_bench *sb, uint32_t id, uint32_t pool, uint32_t weight);
void slo_bench_target(struct slo_bench *sb, uint32_t id, enum cot_target_kind kind,
		      uint32_t amount);
/* What is said of it under this name: its value; 0: nothing is. */
uint64_t slo_bench_fact(const struct slo_bench *sb, uint32_t id, const char *name);
/* The text of that, or NULL. */
const char *slo_bench_text(const struct slo_bench *sb, uint32_t id, const char *name);
/* How much of its rate alone a batch program has now. */
double slo_bench_rate(const struct slo_bench *sb, uint32_t id);
/* `per_s` requests of `alone_us`. */
void slo_bench_load(struct slo_bench *sb, double per_s, uint32_t alone_us);
void slo_bench_run(struct slo_bench *sb, uint64_t for_ns);
void slo_bench_count(struct slo_bench *sb);
/* Of all since slo_bench_count(), in 1/1000. */
double slo_bench_missed(const struct slo_bench *sb);

/* Where batch programs' SMs end; 132 without parts. */
uint32_t slo_bench_batch_end(const struct slo_bench *sb);

/* As between two pools on an H200: a switch and the rest of a slice. */
double slo_bench_pools(const struct slo_bench *sb);
/* As on parts: 64 SMs 1.45 times, 96 1.86, 112 3.14; more with load. */
double slo_bench_parts(const struct slo_bench *sb);

#endif
