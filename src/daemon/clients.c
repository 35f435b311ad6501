/*
 * How many clients the MPS servers of a pool have, as its control program says: nothing of a pool
 * is ended while there is one, whether or not we know its program. Two commands, each by a process
 * of its own, so the answer comes later.
 *
 *   get_server_list ----> get_client_list SERVER, for each of them ----> done(p, number)
 */
#include "daemon/clients.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/mps.h"
#include "daemon/pool.h"

#define LIMIT_NS (5 * COT_NS_PER_S)

static void ask_next(struct pool *p);

static struct pool *pool_of(struct clients *c)
{
	return COT_CONTAINER_OF(c, struct pool, clients);
}

static void close_out(struct clients *c)
{
	if (c->out >= 0)
		(void)close(c->out);
	c->out = -1;
}

static void finish(struct pool *p, int n)
{
	struct clients *c = &p->clients;

	cot_timer_clear(&c->limit);
	c->asked = false;
	c->done(p, n);
}

int cot_clients_parse(const char *text, pid_t *ret_pids, unsigned size)
{
	unsigned n = 0;
	char *end;

	while (text[strspn(text, " \t\r\n")]) {
		long pid = strtol(text, &end, 10);

		if (pid <= 0 || pid > INT32_MAX || (*end && !isspace((unsigned char)*end)))
			return -EINVAL;
		if (n < size)
			ret_pids[n] = (pid_t)pid;
		n++;
		text = end;
	}
	return n > INT32_MAX ? -EINVAL : (int)n;
}

/* What one command has answered. */
static void take(struct pool *p, const char *text)
{
	struct clients *c = &p->clients;
	pid_t pids[1];
	int n;

	if (c->next < 0) {
		n = cot_clients_parse(text, c->servers, COT_ARRAY_LEN(c->servers));
		c->n_servers = n > (int)COT_ARRAY_LEN(c->servers) ? -1 : n;
	} else {
		n = cot_clients_parse(text, pids, COT_ARRAY_LEN(pids));
		c->n += n;
	}
	c->next++;
	if (n < 0 || c->n_servers < 0)
		finish(p, -1);
	else
		ask_next(p);
}

static void command_ended(struct cot_source *source, uint32_t events)
{
	struct watch *w = COT_CONTAINER_OF(source, struct watch, source);
	struct clients *c = COT_CONTAINER_OF(w, struct clients, command);
	struct pool *p = pool_of(c);
	char text[4096];
	int status = -1;
	ssize_t n = read(c->out, text, sizeof(text) - 1);

	(void)events;
	(void)waitpid(w->pid, &status, WNOHANG);
	cot_watch_stop(&p->basis->watches, w);
	close_out(c);
	if (!c->asked) /* it took too long */
		return;
	text[n > 0 ? n : 0] = '\0';
	if (status == 0 && n < (ssize_t)sizeof(text) - 1)
		take(p, text);
	else
		finish(p, -1);
}

static void limit_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct clients *c = COT_CONTAINER_OF(timer, struct clients, limit);

	(void)now_ns;
	if (c->command.pid) /* it only asks: command_ended() follows */
		(void)kill(c->command.pid, SIGKILL);
	finish(pool_of(c), -1);
}

static void ask_next(struct pool *p)
{
	struct clients *c = &p->clients;
	char line[64] = "get_server_list";
	struct cot_error err = {{0}};
	pid_t pid;

	if (c->next >= 0 && c->next >= c->n_servers) {
		finish(p, c->n);
		return;
	}
	if (c->next >= 0)
		(void)snprintf(line, sizeof(line), "get_client_list %d", (int)c->servers[c->next]);
	pid = cot_mps_tell(p, line, &c->out, &err);
	if (pid > 0 &&
	    cot_watch_start_child(&p->basis->watches, &c->command, pid, command_ended) == 0)
		return;
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		close_out(c);
	}
	finish(p, -1);
}

void cot_clients_ask(struct pool *p, void (*done)(struct pool *p, int n))
{
	struct clients *c = &p->clients;

	c->done = done;
	if (c->asked)
		return;
	if (c->command.pid) { /* the last one has not ended yet */
		done(p, -1);
		return;
	}
	*c = (struct clients){.out = -1, .next = -1, .asked = true, .done = done};
	c->command.source.fd = -1;
	c->limit.fire = limit_fired;
	cot_timer_set(&p->basis->loop, &c->limit, cot_now_ns() + LIMIT_NS);
	ask_next(p);
}

bool cot_clients_reap(struct pool *p)
{
	return cot_watch_reap(&p->basis->watches, &p->clients.command);
}
