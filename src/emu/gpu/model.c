#include "emu/gpu/model.h"

#include <errno.h>
#include <string.h>

#include "base/gpu_sheet.h"
#include "emu/gpu/engine.h"

struct cot_emu_params cot_emu_params_default(void)
{
	return (struct cot_emu_params){
		.switch_ns = COT_EMU_SWITCH_NS,
		.drained_ns = COT_EMU_DRAINED_NS,
		.n_gpus = 1,
		.n_sms = COT_H200_SMS,
	};
}

void cot_emu_model_init(struct cot_emu_model *m, const struct cot_emu_params *p, uint64_t now_ns)
{
	uint32_t i;

	memset(m, 0, sizeof(*m));
	m->params = *p;
	m->now_ns = now_ns;
	for (i = 0; i < COT_EMU_MAX_GPUS; i++)
		cot_emu_engine_init(&m->engines[i], now_ns);
}

void cot_emu_model_copy(struct cot_emu_model *to, const struct cot_emu_model *from)
{
	memcpy(to, from, offsetof(struct cot_emu_model, clients));
	memcpy(to->clients, from->clients, from->n_clients * sizeof(from->clients[0]));
	memcpy(to->groups, from->groups, from->n_groups * sizeof(from->groups[0]));
	memcpy(to->channels, from->channels, from->n_channels * sizeof(from->channels[0]));
	memcpy(to->kernels, from->kernels, from->n_kernels * sizeof(from->kernels[0]));
}

uint64_t cot_emu_model_next(const struct cot_emu_model *m)
{
	uint64_t next = COT_EMU_NEVER, t;
	uint32_t i;

	for (i = 0; i < m->params.n_gpus; i++) {
		t = cot_emu_engine_next(m, &m->engines[i]);
		if (t < next)
			next = t;
	}
	return next;
}

void cot_emu_model_book(struct cot_emu_model *m)
{
	cot_emu_engines_book(m);
}

void cot_emu_model_advance(struct cot_emu_model *m, uint64_t now_ns)
{
	uint64_t t;

	while ((t = cot_emu_model_next(m)) <= now_ns) {
		if (t > m->now_ns)
			m->now_ns = t;
		cot_emu_engines_book(m);
		cot_emu_engines_settle(m);
	}
	if (now_ns > m->now_ns)
		m->now_ns = now_ns;
}

/* ---- names ---- */

static bool group_valid(const struct cot_emu_model *m, struct cot_emu_group_id id)
{
	return id.serial && id.slot < m->n_groups && m->groups[id.slot].serial == id.serial;
}

static bool channel_valid(const struct cot_emu_model *m, struct cot_emu_channel_id id)
{
	return id.serial && id.slot < m->n_channels && m->channels[id.slot].serial == id.serial;
}

static bool ticket_valid(const struct cot_emu_model *m, struct cot_emu_ticket id)
{
	return id.serial && id.slot < m->n_kernels && m->kernels[id.slot].serial == id.serial;
}

static uint32_t next_serial(struct cot_emu_model *m)
{
	if (!++m->last_serial)
		m->last_serial = 1;
	return m->last_serial;
}

const struct cot_emu_group *cot_emu_model_group(const struct cot_emu_model *m,
						struct cot_emu_group_id group)
{
	return group_valid(m, group) ? &m->groups[group.slot] : NULL;
}

const struct cot_emu_channel *cot_emu_model_channel(const struct cot_emu_model *m,
						    struct cot_emu_channel_id channel)
{
	return channel_valid(m, channel) ? &m->channels[channel.slot] : NULL;
}

struct cot_emu_group_id cot_emu_model_group_of(const struct cot_emu_model *m,
					       struct cot_emu_channel_id channel)
{
	uint32_t slot;

	if (!channel_valid(m, channel))
		return (struct cot_emu_group_id){0, 0};
	slot = m->channels[channel.slot].group;
	return (struct cot_emu_group_id){slot, m->groups[slot].serial};
}

uint32_t cot_emu_channel_token(struct cot_emu_channel_id channel)
{
	return channel.serial * COT_EMU_MAX_CHANNELS + channel.slot;
}

struct cot_emu_channel_id cot_emu_model_token_channel(const struct cot_emu_model *m, uint32_t token)
{
	struct cot_emu_channel_id id = {.slot = token % COT_EMU_MAX_CHANNELS};

	if (id.slot < m->n_channels)
		id.serial = m->channels[id.slot].serial;
	if (cot_emu_channel_token(id) != token)
		id.serial = 0;
	return id;
}

/* ---- clients ---- */

int cot_emu_model_client_add(struct cot_emu_model *m, uint32_t first_slot, int32_t pid,
			     uint64_t born, uint32_t *ret_client)
{
	uint32_t i;

	for (i = first_slot; i < COT_EMU_MAX_CLIENTS; i++) {
		if (i < m->n_clients && m->clients[i].used)
			continue;
		for (; m->n_clients <= i; m->n_clients++)
			m->clients[m->n_clients].used = 0;
		m->clients[i] = (struct cot_emu_client){.used = 1, .pid = pid, .born = born};
		*ret_client = i;
		return 0;
	}
	return -ENOSPC;
}

void cot_emu_model_client_drop(struct cot_emu_model *m, uint32_t client)
{
	uint32_t i;

	if (client >= m->n_clients || !m->clients[client].used)
		return;
	for (i = m->n_groups; i-- > 0;)
		if (m->groups[i].serial && m->groups[i].client == client)
			cot_emu_model_group_free(m,
						 (struct cot_emu_group_id){i, m->groups[i].serial});
	for (i = m->n_kernels; i-- > 0;)
		if (m->kernels[i].serial && m->kernels[i].client == client)
			cot_emu_model_release(m, (struct cot_emu_ticket){i, m->kernels[i].serial});
	m->clients[client].used = 0;
	while (m->n_clients && !m->clients[m->n_clients - 1].used)
		m->n_clients--;
}

bool cot_emu_model_client_busy(const struct cot_emu_model *m, uint32_t client)
{
	uint32_t i;

	for (i = 0; i < m->n_kernels; i++)
		if (m->kernels[i].serial && m->kernels[i].client == client)
			return true;
	for (i = 0; i < m->n_groups; i++)
		if (m->groups[i].serial && m->groups[i].client == client && m->groups[i].n_queued)
			return true;
	return false;
}

/* ---- groups and channels ---- */

int cot_emu_model_group_add(struct cot_emu_model *m, uint32_t client, uint32_t gpu,
			    enum cot_emu_engine_kind engine, struct cot_emu_group_id *ret_group)
{
	struct cot_emu_group *g;
	uint32_t i, serial;

	if (client >= m->n_clients || !m->clients[client].used || gpu >= m->params.n_gpus)
		return -EINVAL;
	for (i = 0; i < m->n_groups && m->groups[i].serial; i++)
		;
	if (i == COT_EMU_MAX_GROUPS)
		return -ENOSPC;
	g = &m->groups[i];
	serial = next_serial(m);
	*g = (struct cot_emu_group){
		.serial = serial,
		.client = (uint16_t)client,
		.gpu = (uint8_t)gpu,
		.engine = (uint8_t)engine,
		.first_channel = -1,
		.slice_ns = COT_EMU_SLICE_NS,
	};
	if (i == m->n_groups)
		m->n_groups++;
	*ret_group = (struct cot_emu_group_id){i, serial};
	return 0;
}

static void fault_channel(struct cot_emu_model *m, struct cot_emu_channel *ch)
{
	struct cot_emu_kernel *k;

	while (ch->head >= 0) {
		k = &m->kernels[ch->head];
		cot_emu_kernel_unlink(m, (uint32_t)ch->head);
		k->state = COT_EMU_KERNEL_FAULTED;
		k->ended_ns = m->now_ns;
	}
}

static void channel_unlink(struct cot_emu_model *m, uint32_t slot)
{
	struct cot_emu_channel *ch = &m->channels[slot];
	struct cot_emu_group *g = &m->groups[ch->group];
	int32_t *at = &g->first_channel;

	while (*at >= 0 && *at != (int32_t)slot)
		at = &m->channels[*at].next;
	if (*at >= 0)
		*at = ch->next;
	g->n_channels--;
	ch->serial = 0;
	while (m->n_channels && !m->channels[m->n_channels - 1].serial)
		m->n_channels--;
}

int cot_emu_model_group_free(struct cot_emu_model *m, struct cot_emu_group_id group)
{
	struct cot_emu_group *g;

	if (!group_valid(m, group))
		return -ENOENT;
	g = &m->groups[group.slot];
	cot_emu_engines_book(m);
	cot_emu_engine_forget(m, group.slot);
	while (g->first_channel >= 0) {
		fault_channel(m, &m->channels[g->first_channel]);
		channel_unlink(m, (uint32_t)g->first_channel);
	}
	g->serial = 0;
	while (m->n_groups && !m->groups[m->n_groups - 1].serial)
		m->n_groups--;
	cot_emu_engines_settle(m);
	return 0;
}

int cot_emu_model_channel_add(struct cot_emu_model *m, struct cot_emu_group_id group,
			      struct cot_emu_channel_id *ret_channel)
{
	struct cot_emu_group *g;
	struct cot_emu_channel *ch;
	uint32_t i, serial;

	if (!group_valid(m, group))
		return -ENOENT;
	g = &m->groups[group.slot];
	for (i = 0; i < m->n_channels && m->channels[i].serial; i++)
		;
	if (i == COT_EMU_MAX_CHANNELS)
		return -ENOSPC;
	ch = &m->channels[i];
	serial = next_serial(m);
	*ch = (struct cot_emu_channel){
		.serial = serial,
		.group = (uint16_t)group.slot,
		.mode = COT_NV_PREEMPTION_CILP,
		.next = g->first_channel,
		.head = -1,
		.tail = -1,
	};
	g->first_channel = (int32_t)i;
	g->n_channels++;
	if (i == m->n_channels)
		m->n_channels++;
	*ret_channel = (struct cot_emu_channel_id){i, serial};
	return 0;
}

int cot_emu_model_channel_free(struct cot_emu_model *m, struct cot_emu_channel_id channel)
{
	if (!channel_valid(m, channel))
		return -ENOENT;
	cot_emu_engines_book(m);
	fault_channel(m, &m->channels[channel.slot]);
	channel_unlink(m, channel.slot);
	cot_emu_engines_settle(m);
	return 0;
}

/* ---- controls ---- */

int cot_emu_model_set_slice(struct cot_emu_model *m, struct cot_emu_group_id group,
			    uint64_t slice_ns)
{
	if (!group_valid(m, group))
		return -ENOENT;
	if (!slice_ns || slice_ns > COT_EMU_MAX_SLICE)
		return -EINVAL;
	cot_emu_engines_book(m);
	m->groups[group.slot].slice_ns = slice_ns;
	cot_emu_engines_settle(m);
	return 0;
}

int cot_emu_model_set_interleave(struct cot_emu_model *m, struct cot_emu_group_id group,
				 uint32_t level)
{
	if (!group_valid(m, group))
		return -ENOENT;
	if (level > 2)
		return -EINVAL;
	m->groups[group.slot].interleave = (uint8_t)level;
	return 0;
}

int cot_emu_model_set_mode(struct cot_emu_model *m, struct cot_emu_channel_id channel,
			   uint32_t mode)
{
	if (!channel_valid(m, channel))
		return -ENOENT;
	if (mode > COT_NV_PREEMPTION_CILP)
		return -EINVAL;
	cot_emu_engines_book(m);
	m->channels[channel.slot].mode = (uint8_t)mode;
	cot_emu_engines_settle(m);
	return 0;
}

int cot_emu_model_disable(struct cot_emu_model *m, struct cot_emu_channel_id channel, bool disable,
			  bool only_scheduling)
{
	struct cot_emu_channel *ch;
	struct cot_emu_engine *e;
	bool on_gpu;

	if (!channel_valid(m, channel))
		return -ENOENT;
	ch = &m->channels[channel.slot];
	e = &m->engines[m->groups[ch->group].gpu];
	on_gpu = e->current == (int32_t)ch->group;
	cot_emu_engines_book(m);
	if (!disable || !ch->disabled)
		ch->lingers = disable && only_scheduling && on_gpu;
	else if (!only_scheduling)
		ch->lingers = 0;
	ch->disabled = disable;
	if (disable && on_gpu && only_scheduling)
		e->expelled = 1;
	else if (disable)
		cot_emu_engine_expel(m, ch->group);
	cot_emu_engines_settle(m);
	return 0;
}

int cot_emu_model_preempt(struct cot_emu_model *m, struct cot_emu_group_id group)
{
	if (!group_valid(m, group))
		return -ENOENT;
	cot_emu_engines_book(m);
	cot_emu_engine_expel(m, group.slot);
	cot_emu_engines_settle(m);
	return 0;
}

bool cot_emu_model_resident(const struct cot_emu_model *m, struct cot_emu_group_id group)
{
	return group_valid(m, group) && cot_emu_engine_resident(m, group.slot);
}

bool cot_emu_model_channel_resident(const struct cot_emu_model *m,
				    struct cot_emu_channel_id channel)
{
	const struct cot_emu_channel *ch;

	if (!channel_valid(m, channel))
		return false;
	ch = &m->channels[channel.slot];
	/* A loaded context runs nothing of a channel that must leave. */
	if (m->engines[m->groups[ch->group].gpu].state == COT_EMU_RUN && !ch->lingers)
		return false;
	return cot_emu_engine_resident(m, ch->group);
}

/* ---- kernels ---- */

static bool work_valid(const struct cot_emu_work *w)
{
	if (w->open)
		return w->demand && w->demand <= COT_EMU_WHOLE_GPU;
	return w->total_ns && w->total_ns <= COT_EMU_MAX_WORK && w->block_ns &&
	       w->block_ns <= w->total_ns && w->demand && w->demand <= COT_EMU_WHOLE_GPU;
}

static void enqueue(struct cot_emu_model *m, uint32_t channel, uint32_t kernel)
{
	struct cot_emu_channel *ch = &m->channels[channel];

	if (ch->tail < 0)
		ch->head = (int32_t)kernel;
	else
		m->kernels[ch->tail].next = (int32_t)kernel;
	ch->tail = (int32_t)kernel;
	ch->n_queued++;
	m->groups[ch->group].n_queued++;
}

int cot_emu_model_submit(struct cot_emu_model *m, struct cot_emu_channel_id channel,
			 uint32_t client, const struct cot_emu_work *work,
			 struct cot_emu_ticket after, struct cot_emu_ticket *ret_ticket)
{
	struct cot_emu_kernel *k;
	uint32_t i, serial;

	if (!channel_valid(m, channel))
		return -ENOENT;
	if (client >= m->n_clients || !m->clients[client].used || !work_valid(work))
		return -EINVAL;
	if (m->groups[m->channels[channel.slot].group].faulted)
		return -EIO;
	for (i = 0; i < m->n_kernels && m->kernels[i].serial; i++)
		;
	if (i == COT_EMU_MAX_KERNELS || m->channels[channel.slot].n_queued >= COT_EMU_MAX_QUEUED)
		return -EAGAIN;
	cot_emu_engines_book(m);
	k = &m->kernels[i];
	serial = next_serial(m);
	*k = (struct cot_emu_kernel){
		.serial = serial,
		.state = COT_EMU_KERNEL_QUEUED,
		.traps = work->traps,
		.open = work->open,
		.parked = work->open,
		.fills = work->fills,
		.client = (uint16_t)client,
		.channel = (uint16_t)channel.slot,
		.demand = (uint16_t)work->demand,
		.next = -1,
		.after = after,
		.block_ns = work->open ? COT_EMU_NEVER : work->block_ns,
		.total_ns = work->open ? COT_EMU_NEVER : work->total_ns,
		.submitted_ns = m->now_ns,
		.started_ns = COT_EMU_NEVER,
		.sms = work->sms,
	};
	if (i == m->n_kernels)
		m->n_kernels++;
	enqueue(m, channel.slot, i);
	cot_emu_engines_settle(m);
	*ret_ticket = (struct cot_emu_ticket){i, serial};
	return 0;
}

struct cot_emu_outcome cot_emu_model_outcome(const struct cot_emu_model *m,
					     struct cot_emu_ticket ticket)
{
	const struct cot_emu_kernel *k;

	if (!ticket_valid(m, ticket))
		return (struct cot_emu_outcome){.state = COT_EMU_KERNEL_FREE};
	k = &m->kernels[ticket.slot];
	return (struct cot_emu_outcome){
		.state = (enum cot_emu_kernel_state)k->state,
		.submitted_ns = k->submitted_ns,
		.started_ns = k->started_ns,
		.ended_ns = k->ended_ns,
	};
}

void cot_emu_model_release(struct cot_emu_model *m, struct cot_emu_ticket ticket)
{
	struct cot_emu_kernel *k;

	if (!ticket_valid(m, ticket))
		return;
	k = &m->kernels[ticket.slot];
	cot_emu_engines_book(m);
	if (k->state == COT_EMU_KERNEL_QUEUED)
		cot_emu_kernel_unlink(m, ticket.slot);
	k->serial = 0;
	k->state = COT_EMU_KERNEL_FREE;
	while (m->n_kernels && !m->kernels[m->n_kernels - 1].serial)
		m->n_kernels--;
	cot_emu_engines_settle(m);
}

/* ---- open kernels ---- */

enum cot_emu_leave_to cot_emu_model_leave_to(const struct cot_emu_model *m,
					     struct cot_emu_ticket ticket)
{
	if (!ticket_valid(m, ticket) || m->kernels[ticket.slot].state != COT_EMU_KERNEL_QUEUED)
		return COT_EMU_IS_OVER;
	return cot_emu_engine_leave_to(m, ticket.slot);
}

void cot_emu_model_park(struct cot_emu_model *m, struct cot_emu_ticket ticket, bool parked)
{
	if (!ticket_valid(m, ticket) || m->kernels[ticket.slot].parked == parked)
		return;
	cot_emu_engines_book(m);
	m->kernels[ticket.slot].parked = parked;
	cot_emu_engines_settle(m);
}

void cot_emu_model_end(struct cot_emu_model *m, struct cot_emu_ticket ticket, bool faulted)
{
	struct cot_emu_kernel *k;

	if (!ticket_valid(m, ticket) || m->kernels[ticket.slot].state != COT_EMU_KERNEL_QUEUED)
		return;
	k = &m->kernels[ticket.slot];
	cot_emu_engines_book(m);
	if (faulted) {
		cot_emu_group_fault(m, m->channels[k->channel].group);
	} else {
		cot_emu_kernel_unlink(m, ticket.slot);
		k->state = COT_EMU_KERNEL_DONE;
		k->ended_ns = m->now_ns;
	}
	cot_emu_engines_settle(m);
}

bool cot_emu_model_has_open(const struct cot_emu_model *m)
{
	uint32_t i;

	for (i = 0; i < m->n_kernels; i++)
		if (m->kernels[i].serial && m->kernels[i].open &&
		    m->kernels[i].state == COT_EMU_KERNEL_QUEUED)
			return true;
	return false;
}
