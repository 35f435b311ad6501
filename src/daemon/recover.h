/*
 * Pools and programs of the daemon before this one, by what their processes have in their
 * environment.
 */
#ifndef COT_DAEMON_RECOVER_H
#define COT_DAEMON_RECOVER_H

struct cot_processes;
struct pool;
struct roster;

/* 0, or -errno when it cannot be known which of them still run. */
int cot_recover_pools(struct roster *r, const struct cot_processes *all);
int cot_recover_tenants(struct roster *r, const struct cot_processes *all);
/* The running pool whose programs have this in CUDA_MPS_PIPE_DIRECTORY, or NULL. */
struct pool *cot_recover_pool_with(struct roster *r, const char *pipe);

#endif
