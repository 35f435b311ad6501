#include "emu/mps/server/server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compiler.h"
#include "emu/driver/export.h"
#include "emu/mps/wire.h"

#define MAX_GPUS 4
/* While it has clients the server looks this often whether one of them has faulted. */
#define FAULT_CHECK_MS 100

struct client {
	int sock, pidfd; /* sock -1: free */
	int32_t pid;
};

/* A few channels on one GPU. A client's context has one slot, or several if it asked for more. */
struct slot {
	int client; /* -1: free */
	int gpu;
	unsigned first; /* of its context's slots */
};

struct server {
	int control;
	const struct cot_emu_export_mps *mps;
	int n_gpus;
	bool faulted;
	uint32_t n_taken; /* clients, refused ones too */
	struct cot_emu_context *contexts[MAX_GPUS];
	uint32_t tokens[MAX_GPUS][COT_EMU_MPS_MAX_CLIENTS * COT_EMU_MPS_CHANNELS_PER_CLIENT];
	struct client clients[COT_EMU_MPS_MAX_CLIENTS];
	struct slot slots[COT_EMU_MPS_MAX_CLIENTS];
};

static unsigned n_clients(const struct server *s)
{
	unsigned i, n = 0;

	for (i = 0; i < COT_EMU_MPS_MAX_CLIENTS; i++)
		n += s->clients[i].sock >= 0;
	return n;
}

static void tell_control(const struct server *s)
{
	struct cot_emu_mps_message m = cot_emu_mps_message(COT_EMU_MPS_CLIENTS);
	unsigned i;

	m.slot = s->n_taken;
	for (i = 0; i < COT_EMU_MPS_MAX_CLIENTS; i++)
		if (s->clients[i].sock >= 0)
			m.tokens[m.n++] = (uint32_t)s->clients[i].pid;
	snprintf(m.text, sizeof(m.text), "%s", s->faulted ? "FAULT" : "ACTIVE");
	(void)!cot_emu_mps_send(s->control, &m, -1);
}

/* ---- contexts ---- */

static CUresult make_contexts(struct server *s)
{
	CUresult result;
	int i;

	for (i = 0; i < s->n_gpus; i++) {
		result =
			s->mps->create(i, COT_EMU_MPS_MAX_CLIENTS * COT_EMU_MPS_CHANNELS_PER_CLIENT,
				       s->tokens[i], &s->contexts[i]);
		if (result)
			return result;
	}
	return CUDA_SUCCESS;
}

static void destroy_contexts(struct server *s)
{
	int i;

	for (i = 0; i < s->n_gpus; i++) {
		if (s->contexts[i])
			s->mps->destroy(s->contexts[i]);
		s->contexts[i] = NULL;
	}
}

static void check_faults(struct server *s)
{
	int i;

	for (i = 0; i < s->n_gpus && !s->faulted; i++)
		s->faulted = s->mps->faulted(s->contexts[i]);
	if (!s->faulted)
		return;
	if (!n_clients(s)) {
		destroy_contexts(s);
		s->faulted = make_contexts(s) != CUDA_SUCCESS;
	}
	tell_control(s);
}

/* ---- clients ---- */

static void drop_client(struct server *s, unsigned c)
{
	unsigned i;

	close(s->clients[c].sock);
	if (s->clients[c].pidfd >= 0)
		close(s->clients[c].pidfd);
	s->clients[c] = (struct client){.sock = -1, .pidfd = -1};
	for (i = 0; i < COT_EMU_MPS_MAX_CLIENTS; i++)
		if (s->slots[i].client == (int)c)
			s->slots[i].client = -1;
	s->mps->bury();
	check_faults(s);
	tell_control(s);
}

/* A client whose socket the daemon hands over. */
static void take_client(struct server *s, int sock, int32_t pid)
{
	struct cot_emu_mps_message m = cot_emu_mps_message(COT_EMU_MPS_WELCOME);
	unsigned c = 0;

	check_faults(s);
	m.pid = getpid();
	while (c < COT_EMU_MPS_MAX_CLIENTS && s->clients[c].sock >= 0)
		c++;
	if (s->faulted)
		m.status = CUDA_ERROR_MPS_SERVER_NOT_READY;
	else if (c == COT_EMU_MPS_MAX_CLIENTS)
		m.status = CUDA_ERROR_MPS_MAX_CLIENTS_REACHED;
	s->n_taken++;
	if (cot_emu_mps_send(sock, &m, -1) || m.status) {
		close(sock);
		tell_control(s);
		return;
	}
	s->clients[c] = (struct client){
		.sock = sock,
		/* Children that inherit the socket keep it open; this ends with the process. */
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.pid = pid,
	};
	tell_control(s);
}

static unsigned free_slot(const struct server *s)
{
	unsigned i = 0;

	while (i < COT_EMU_MPS_MAX_CLIENTS && s->slots[i].client >= 0)
		i++;
	return i;
}

/* The slot i is of the context whose first slot is `first`; its channels go into the answer. */
static void give_slot(struct server *s, unsigned i, struct slot slot, struct cot_emu_mps_message *m)
{
	s->slots[i] = slot;
	memcpy(m->tokens + m->n, &s->tokens[slot.gpu][i * COT_EMU_MPS_CHANNELS_PER_CLIENT],
	       COT_EMU_MPS_CHANNELS_PER_CLIENT * sizeof(m->tokens[0]));
	m->n += COT_EMU_MPS_CHANNELS_PER_CLIENT;
}

static void close_context(struct server *s, unsigned c, unsigned first)
{
	unsigned i;

	for (i = 0; i < COT_EMU_MPS_MAX_CLIENTS; i++)
		if (s->slots[i].client == (int)c && s->slots[i].first == first)
			s->slots[i].client = -1;
}

static void open_context(struct server *s, unsigned c, uint32_t gpu, uint32_t n_channels)
{
	struct cot_emu_mps_message m = cot_emu_mps_message(COT_EMU_MPS_OPENED);
	struct slot slot = {.client = (int)c, .gpu = (int)gpu};
	unsigned i = free_slot(s);

	check_faults(s);
	if (s->faulted)
		m.status = CUDA_ERROR_MPS_SERVER_NOT_READY;
	else if (gpu >= (uint32_t)s->n_gpus)
		m.status = CUDA_ERROR_INVALID_DEVICE;
	else if (i == COT_EMU_MPS_MAX_CLIENTS)
		m.status = CUDA_ERROR_MPS_MAX_CLIENTS_REACHED;
	if (!m.status) {
		m.slot = slot.first = i;
		do
			give_slot(s, i, slot, &m);
		while (m.n < n_channels && m.n < COT_EMU_MPS_MAX_CLIENTS &&
		       (i = free_slot(s)) < COT_EMU_MPS_MAX_CLIENTS);
	}
	if (cot_emu_mps_send(s->clients[c].sock, &m, -1))
		drop_client(s, c);
}

static void serve_client(struct server *s, unsigned c)
{
	struct cot_emu_mps_message m;
	int err = cot_emu_mps_receive(s->clients[c].sock, &m, NULL, 0);

	if (err == -EAGAIN || err == -ETIMEDOUT)
		return;
	if (err)
		drop_client(s, c);
	else if (m.type == COT_EMU_MPS_OPEN)
		open_context(s, c, m.gpu, m.n);
	else if (m.type == COT_EMU_MPS_CLOSE)
		close_context(s, c, m.slot);
}

/* false: the daemon has closed its end. */
static bool serve_control(struct server *s)
{
	struct cot_emu_mps_message m;
	int sock = -1, err = cot_emu_mps_receive(s->control, &m, &sock, 0);

	if (err == -EAGAIN || err == -ETIMEDOUT)
		return true;
	if (err)
		return false;
	if (m.type == COT_EMU_MPS_TAKE && sock >= 0)
		take_client(s, sock, m.pid);
	else if (sock >= 0)
		close(sock);
	return true;
}

static void serve_clients(struct server *s, const struct pollfd p[2 * COT_EMU_MPS_MAX_CLIENTS])
{
	unsigned c;

	for (c = 0; c < COT_EMU_MPS_MAX_CLIENTS; c++) {
		if (p[2 * c + 1].revents && s->clients[c].pidfd == p[2 * c + 1].fd)
			drop_client(s, c);
		else if (p[2 * c].revents && s->clients[c].sock == p[2 * c].fd)
			serve_client(s, c);
	}
}

static int loop(struct server *s)
{
	struct pollfd p[1 + 2 * COT_EMU_MPS_MAX_CLIENTS];
	unsigned c;

	for (;;) {
		p[0] = (struct pollfd){.fd = s->control, .events = POLLIN};
		for (c = 0; c < COT_EMU_MPS_MAX_CLIENTS; c++) {
			p[1 + 2 * c] = (struct pollfd){.fd = s->clients[c].sock, .events = POLLIN};
			p[2 + 2 * c] = (struct pollfd){.fd = s->clients[c].pidfd, .events = POLLIN};
		}
		if (poll(p, COT_ARRAY_LEN(p), n_clients(s) ? FAULT_CHECK_MS : -1) < 0 &&
		    errno != EINTR)
			return 1;
		/* Who comes after the last client of a fault has gone is welcome: so they go first.
		 */
		serve_clients(s, p + 1);
		if (p[0].revents && !serve_control(s))
			return 0;
		if (n_clients(s) && !s->faulted)
			check_faults(s);
	}
}

int cot_emu_mps_server_run(int control)
{
	static const CUuuid id = COT_EMU_EXPORT_MPS_ID;
	struct server *s = calloc(1, sizeof(*s));
	const void *table;
	unsigned i;
	int status = 1;

	if (!s)
		return 1;
	s->control = control;
	for (i = 0; i < COT_EMU_MPS_MAX_CLIENTS; i++) {
		s->clients[i] = (struct client){.sock = -1, .pidfd = -1};
		s->slots[i].client = -1;
	}
	/* The server is no client of itself. */
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
	if (cuInit(0) || cuDeviceGetCount(&s->n_gpus) || cuGetExportTable(&table, &id))
		goto out;
	s->mps = table;
	if (s->n_gpus > MAX_GPUS)
		s->n_gpus = MAX_GPUS;
	if (make_contexts(s))
		goto out;
	tell_control(s);
	status = loop(s);
	destroy_contexts(s);
out:
	free(s);
	return status;
}
