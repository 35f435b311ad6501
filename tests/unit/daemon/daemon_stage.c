#include "daemon_stage.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/measure.h"

struct daemon stage;

static struct cot_page pages[MAX_CONNS];
static int peer_fd = -1, log_fd = -1, stderr_fd = -1;
static off_t log_read;

/* ---- the log ---- */

static void catch_log(void)
{
	FILE *file = tmpfile();

	assert_non_null(file);
	log_fd = dup(fileno(file));
	(void)fclose(file);
	log_read = 0;
	(void)fflush(stderr);
	stderr_fd = dup(STDERR_FILENO);
	assert_true(dup2(log_fd, STDERR_FILENO) >= 0);
}

const char *stage_log(void)
{
	static char text[16384];
	ssize_t n;

	(void)fflush(stderr);
	n = pread(log_fd, text, sizeof(text) - 1, log_read);
	assert_true(n >= 0);
	text[n] = '\0';
	log_read += n;
	return text;
}

/* What nobody has read, such as why a test failed, comes out after all. */
static void release_log(void)
{
	const char *rest = stage_log();

	(void)dup2(stderr_fd, STDERR_FILENO);
	(void)fputs(rest, stderr);
	(void)close(stderr_fd);
	(void)close(log_fd);
}

/* ---- life ---- */

int stage_setup(void **state)
{
	unsigned i;

	(void)state;
	world_use("pools");
	w.now_ns = cot_now_ns(); /* what reads the clock by itself is not far off */
	memset(&stage, 0, sizeof(stage));
	memset(pages, 0, sizeof(pages));
	stage.basis.host = w.host;
	stage.basis.gpus.n = 2;
	stage.basis.look_ms = 10000; /* not what a busy machine takes from it */
	stage.basis.config.policy = cot_policy_find("pools");
	cot_daemon_wire(&stage);
	for (i = 0; i < MAX_CONNS; i++)
		stage.conns.all[i] = conn_unused(&stage.conns);
	cot_account_init(&stage.basis.account, 500);
	cot_daemon_log_init(COT_DLOG_DEBUG, false);
	catch_log();
	return cot_loop_init(&stage.basis.loop);
}

static void end_search(void)
{
	pid_t child = stage.roster.outlive.pid;

	cot_outlive_end(&stage.roster);
	if (child)
		(void)waitpid(child, NULL, 0);
}

int stage_teardown(void **state)
{
	release_log();
	if (peer_fd >= 0)
		(void)close(peer_fd);
	peer_fd = -1;
	end_search();
	cot_measure_finish(&stage.roster);
	cot_loop_finish(&stage.basis.loop);
	return world_teardown(state);
}

/* ---- who is there ---- */

struct pool *stage_pool(uint32_t id, const char *name, unsigned gpu)
{
	struct pool *p = stage.roster.pools;

	while (p->id)
		p++;
	*p = (struct pool){.basis = &stage.basis,
			   .in = &stage.roster,
			   .id = id,
			   .cls = strcmp(name, "latency") ? COT_CLASS_BATCH : COT_CLASS_LATENCY,
			   .gpu = gpu,
			   .state = POOL_UP};
	snprintf(p->name, sizeof(p->name), "%s", name);
	world_pool(id, p->cls, false);
	return p;
}

struct tenant *stage_tenant(uint32_t id, const char *name, struct pool *pool)
{
	struct tenant *t = stage.roster.tenants;

	while (t->id)
		t++;
	*t = (struct tenant){.basis = &stage.basis,
			     .in = &stage.roster,
			     .id = id,
			     .cls = COT_CLASS_BATCH,
			     .weight = 100,
			     .gpu_mask = 1,
			     .pool = pool,
			     .since_ns = cot_now_ns()};
	snprintf(t->name, sizeof(t->name), "%s", name);
	world_tenant(id, t->cls, pool ? pool->id : 0, false);
	return t;
}

struct conn *stage_library(unsigned member, struct tenant *t, struct pool *p)
{
	uint32_t entity = p ? p->id : t->pool ? t->pool->id : t->id;
	struct conn *c = &stage.conns.all[member];

	*c = (struct conn){.basis = &stage.basis,
			   .in = &stage.conns,
			   .source = {.fd = 100000 + (int)member},
			   .kind = CONN_LIBRARY,
			   .pid = 5000 + (int)member,
			   .entity = entity,
			   .tenant = t,
			   .pool = p,
			   .page = &pages[member],
			   .n_groups = 1,
			   .n_channels = 8,
			   .settled = true};
	world_join(member, entity, COT_CLASS_BATCH, t && t->pool);
	if (p)
		world_pool(entity, p->cls, true);
	else if (!t->pool)
		world_tenant(entity, t->cls, 0, true);
	world_answer_all(0);
	atomic_store(&pages[member].slice_us, w.library[member].slice_us);
	return c;
}

struct conn *stage_command(unsigned index)
{
	struct conn *c = &stage.conns.all[index];
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	*c = (struct conn){.basis = &stage.basis,
			   .in = &stage.conns,
			   .source = {.fd = ends[0]},
			   .kind = CONN_COMMAND};
	peer_fd = ends[1];
	assert_int_equal(cot_loop_add(&stage.basis.loop, &c->source, EPOLLIN), 0);
	return c;
}

const char *stage_answer(int *ret_status)
{
	static _Alignas(8) char packet[COT_PROTO_PACKET_MAX + 1];
	const struct cot_msg_result *m = (const struct cot_msg_result *)packet;
	ssize_t n = recv(peer_fd, packet, COT_PROTO_PACKET_MAX, 0);

	if (n <= 0)
		return NULL;
	assert_int_equal(cot_proto_check(packet, (size_t)n), COT_MSG_RESULT);
	packet[n] = '\0';
	*ret_status = m->status;
	return m->text;
}
