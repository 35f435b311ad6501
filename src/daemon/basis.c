#include "daemon/basis.h"

#include <sys/resource.h>
#include <unistd.h>

#include "daemon/log.h"

#define LOOK_MS 50 /* a fork, and on a busy machine the wait for a processor */

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= 4096)
		return;
	limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int cot_basis_begin(struct basis *b)
{
	struct cot_error err;

	b->look_ms = LOOK_MS;
	raise_descriptor_limit();
	cot_account_init(&b->account, geteuid());
	cot_gpus_find(&b->gpus);
	if (!b->gpus.found)
		log_warn("no NVIDIA GPU was found here; assuming that there is one");
	if (cot_paths_library(b->library, &err) < 0) {
		log_error("%s: pools will have no slices", err.text);
		b->library[0] = '\0';
	}
	return cot_loop_init(&b->loop);
}

void cot_basis_end(struct basis *b)
{
	cot_host_destroy(b->host); /* it may have plans of what is known */
	cot_known_clear(&b->known);
	cot_loop_finish(&b->loop);
}
