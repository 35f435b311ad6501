#include "model/alloc.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"

#define T_MAX	  COT_ALLOC_TASKS_MAX
#define U_MAX	  COT_ALLOC_UNITS_MAX
#define PARTS_MAX 768u /* divisions of the first tasks that are kept */
#define NONE	  UINT8_MAX
#define STEPS_MAX 24u /* prices of bandwidth that are tried */

/* A number of units that a task may get; those that a smaller number beats are left out. */
struct option {
	uint32_t units, value, bandwidth;
	int64_t worth; /* at the best price */
};

/* A division of the first tasks. */
struct part {
	int64_t value, bandwidth, worth; /* at the best price */
	uint8_t units[T_MAX];
};

/* Those of them that use so many units, by bandwidth. */
struct run {
	uint32_t n_units, begin, end;
};

/* All of them. */
struct side {
	struct part parts[PARTS_MAX];
	struct run runs[U_MAX + 1]; /* by units; none is empty */
	uint32_t n_runs;
};

/* See need_of(). */
struct need {
	int64_t value, worth, bandwidth;
};

/*
 * With a price for bandwidth, units are all that is scarce. most[i][j]: the greatest sum of
 * (per_value * value - per_bw * bandwidth) of the tasks from i on, with at most j units.
 */
struct price {
	int64_t per_value, per_bw;
	int64_t most[T_MAX + 1][U_MAX + 1];
};

struct problem {
	struct option options[T_MAX][U_MAX + 1];
	uint32_t n_options[T_MAX];
	uint8_t option_of[T_MAX][U_MAX + 1]; /* with so many units, or NONE */
	uint32_t n, n_units;
	uint64_t bandwidth;
	struct price none, best; /* of bandwidth: nothing; what bounds best */
	struct cot_alloc found;
	uint64_t goal; /* what is worth less is not looked for */
	struct side sides[2];
	bool full; /* PARTS_MAX were too few */
};

static void list_options(struct problem *p, const struct cot_alloc_task *task, uint32_t i)
{
	struct option *o = p->options[i];
	uint32_t m, k, n = 1, most = 0;

	memset(p->option_of[i], NONE, sizeof(p->option_of[i]));
	p->option_of[i][0] = 0;
	o[0] = (struct option){0};
	for (m = 1; m <= p->n_units; m++) {
		o[n] = (struct option){m, task->value[m - 1], task->bandwidth[m - 1], 0};
		for (k = o[n].value > most ? n : 0; k < n; k++)
			if (o[k].value >= o[n].value && o[k].bandwidth <= o[n].bandwidth)
				break;
		if (k < n || o[n].bandwidth > p->bandwidth)
			continue;
		if (o[n].value > most)
			most = o[n].value;
		p->option_of[i][m] = (uint8_t)n++;
	}
	p->n_options[i] = n;
}

static int64_t worth(const struct price *price, const struct option *o)
{
	return price->per_value * o->value - price->per_bw * o->bandwidth;
}

static void set_price(struct problem *p, struct price *price)
{
	uint32_t i, j, m;
	int64_t sum, own, dearest;

	memset(price->most[p->n], 0, sizeof(price->most[0]));
	for (i = p->n; i-- > 0;) {
		memcpy(price->most[i], price->most[i + 1], sizeof(price->most[0]));
		for (dearest = 0, m = 1; m < p->n_options[i]; m++) {
			const struct option *o = &p->options[i][m];

			own = worth(price, o);
			if (own <= dearest)
				continue; /* fewer units are worth as much */
			dearest = own;
			for (j = o->units; j <= p->n_units; j++) {
				sum = price->most[i + 1][j - o->units] + own;
				if (sum > price->most[i][j])
					price->most[i][j] = sum;
			}
		}
	}
}

/* A division that is best at this price. */
static struct cot_alloc best_at(const struct problem *p, const struct price *price)
{
	struct cot_alloc a = {0};
	uint32_t i, m, j = p->n_units;

	for (i = 0; i < p->n; i++) {
		for (m = 0; m < p->n_options[i]; m++) {
			const struct option *o = &p->options[i][m];

			if (o->units <= j &&
			    price->most[i][j] == worth(price, o) + price->most[i + 1][j - o->units])
				break;
		}
		a.units[i] = (uint8_t)p->options[i][m].units;
		a.value += p->options[i][m].value;
		a.bandwidth += p->options[i][m].bandwidth;
		a.n_units += p->options[i][m].units;
		j -= p->options[i][m].units;
	}
	return a;
}

/* By value, then less bandwidth, then fewer units, then more for the first tasks. */
static bool better(const struct cot_alloc *a, const struct cot_alloc *b)
{
	if (a->value != b->value)
		return a->value > b->value;
	if (a->bandwidth != b->bandwidth)
		return a->bandwidth < b->bandwidth;
	if (a->n_units != b->n_units)
		return a->n_units < b->n_units;
	return memcmp(a->units, b->units, sizeof(a->units)) > 0;
}

/*
 * Looks for the price at which the best division goes from too much bandwidth to less: between the
 * two nearest divisions known, until no division lies above their line. What fits on the way is
 * remembered.
 */
static void seek_price(struct problem *p, struct cot_alloc above)
{
	struct cot_alloc below = {0}, a;
	uint32_t step;

	for (step = 0; step < STEPS_MAX; step++) {
		p->best.per_value = (int64_t)(above.bandwidth - below.bandwidth);
		p->best.per_bw = (int64_t)(above.value - below.value);
		set_price(p, &p->best);
		a = best_at(p, &p->best);
		if (a.bandwidth <= p->bandwidth && better(&a, &p->found))
			p->found = a;
		if (p->best.most[0][p->n_units] <=
		    p->best.per_value * (int64_t)above.value -
			    p->best.per_bw * (int64_t)above.bandwidth)
			break;
		if (a.bandwidth <= p->bandwidth)
			below = a;
		else
			above = a;
	}
}

static const struct option *option_now(const struct problem *p, uint32_t i)
{
	return &p->options[i][p->option_of[i][p->found.units[i]]];
}

/* What another option of task i adds to the value found; 0 if it is too much. */
static uint64_t gain_of(const struct problem *p, uint32_t i, const struct option *o)
{
	const struct option *now = option_now(p, i);

	if (o->value <= now->value || p->found.n_units - now->units + o->units > p->n_units ||
	    p->found.bandwidth - now->bandwidth + o->bandwidth > p->bandwidth)
		return 0;
	return o->value - now->value;
}

static void take(struct problem *p, uint32_t i, const struct option *o)
{
	const struct option *now = option_now(p, i);

	p->found.value += o->value - now->value;
	p->found.bandwidth = p->found.bandwidth - now->bandwidth + o->bandwidth;
	p->found.n_units = p->found.n_units - now->units + o->units;
	p->found.units[i] = (uint8_t)o->units;
}

/* Gives away what the division that was found leaves, to the task to which it is worth most. */
static void fill_up(struct problem *p)
{
	const struct option *best;
	uint32_t i, m, task = 0;
	uint64_t gain, most;

	do {
		for (best = NULL, most = 0, i = 0; i < p->n; i++)
			for (m = 1; m < p->n_options[i]; m++) {
				gain = gain_of(p, i, &p->options[i][m]);
				if (gain > most) {
					most = gain;
					task = i;
					best = &p->options[i][m];
				}
			}
		if (best)
			take(p, task, best);
	} while (best);
}

/*
 * What a division of the first i tasks needs to become worth `goal` with j units left: so much
 * value, so much worth at the best price, and no more bandwidth than that.
 */
static struct need need_of(const struct problem *p, uint32_t i, uint32_t j)
{
	const struct price *s = &p->best;

	return (struct need){
		.value = (int64_t)p->goal - p->none.most[i][j],
		.worth = s->per_value * (int64_t)p->goal - s->per_bw * (int64_t)p->bandwidth -
			 s->most[i][j],
		.bandwidth = (int64_t)p->bandwidth,
	};
}

/* What it needed before it got that. */
static struct need need_before(const struct need *need, const struct option *o)
{
	return (struct need){
		.value = need->value - o->value,
		.worth = need->worth - o->worth,
		.bandwidth = need->bandwidth - o->bandwidth,
	};
}

/* Whether nothing speaks for b; they have as many units. */
static bool beats(const struct part *a, const struct part *b)
{
	if (a->bandwidth != b->bandwidth || a->value != b->value)
		return a->bandwidth <= b->bandwidth && a->value >= b->value;
	return memcmp(a->units, b->units, sizeof(a->units)) > 0;
}

/* Puts a division into a list in which more bandwidth brings more value. Returns its length. */
static uint32_t keep(struct part *list, uint32_t n, const struct part *a)
{
	uint32_t at = n, end = n;

	while (at && list[at - 1].bandwidth > a->bandwidth)
		at--;
	if (at && beats(&list[at - 1], a))
		return n;
	while (at && beats(a, &list[at - 1]))
		at--;
	for (end = at; end < n && beats(a, &list[end]); end++)
		;
	if (end < n)
		memmove(&list[at + 1], &list[end], (n - end) * sizeof(*list));
	list[at] = *a;
	return n + 1 - (end - at);
}

/* Adds task i with this option to divisions of the tasks before, where that may become enough. */
static uint32_t add_option(struct problem *p, const struct part *before, uint32_t n_before,
			   uint32_t i, const struct option *o, const struct need *after,
			   struct part *list, uint32_t n, uint32_t max)
{
	struct need need = need_before(after, o);
	struct part a;
	uint32_t k;

	for (k = 0; k < n_before; k++) {
		if (before[k].bandwidth > need.bandwidth)
			break; /* so do those after it */
		if (before[k].value < need.value || before[k].worth < need.worth)
			continue;
		if (n + 1 >= max) {
			p->full = true;
			break;
		}
		a = before[k];
		a.value += o->value;
		a.bandwidth += o->bandwidth;
		a.worth += o->worth;
		a.units[i] = (uint8_t)o->units;
		n = keep(list, n, &a);
	}
	return n;
}

static void take_best(struct problem *p, const struct side *s, const struct run *r)
{
	uint32_t k;

	for (k = r->begin; k < r->end; k++) {
		struct cot_alloc a = {.value = (uint64_t)s->parts[k].value,
				      .bandwidth = (uint64_t)s->parts[k].bandwidth,
				      .n_units = r->n_units};

		memcpy(a.units, s->parts[k].units, sizeof(a.units));
		if (better(&a, &p->found))
			p->found = a;
	}
}

/* Those divisions of tasks 0 to i that use j units, from those of the tasks before. */
static uint32_t list_parts(struct problem *p, const struct side *before, uint32_t i, uint32_t j,
			   struct part *list, uint32_t max)
{
	struct need after = need_of(p, i + 1, p->n_units - j);
	const struct run *r = before->runs;
	uint32_t n = 0;
	uint8_t option;

	for (; r < before->runs + before->n_runs && r->n_units <= j; r++) {
		option = p->option_of[i][j - r->n_units];
		if (option != NONE)
			n = add_option(p, &before->parts[r->begin], r->end - r->begin, i,
				       &p->options[i][option], &after, list, n, max);
	}
	return n;
}

/* Task after task, for each number of units the divisions that none beats and that may become
 * worth `goal`. */
static void try_all(struct problem *p)
{
	struct side *before = &p->sides[0], *after = &p->sides[1], *other;
	uint32_t i, j, k, n, all;

	before->parts[0] = (struct part){0};
	before->runs[0] = (struct run){.end = 1};
	before->n_runs = 1;
	for (i = 0; i < p->n; i++) {
		after->n_runs = 0;
		for (all = j = 0; before->n_runs && j <= p->n_units; j++) {
			n = list_parts(p, before, i, j, &after->parts[all], PARTS_MAX - all);
			if (n)
				after->runs[after->n_runs++] = (struct run){j, all, all + n};
			all += n;
		}
		other = before;
		before = after;
		after = other;
	}
	for (k = 0; k < before->n_runs; k++)
		take_best(p, before, &before->runs[k]);
}

static void set_worths(struct problem *p)
{
	uint32_t i, m;

	for (i = 0; i < p->n; i++)
		for (m = 0; m < p->n_options[i]; m++)
			p->options[i][m].worth = worth(&p->best, &p->options[i][m]);
}

/*
 * The nearer the goal is to what can be had, the fewer divisions may reach it. So the first goals
 * are just below the bound that the price of bandwidth gives; what reaches a goal is the best.
 */
static void try_goals(struct problem *p)
{
	int64_t bound = p->best.most[0][p->n_units] + p->best.per_bw * (int64_t)p->bandwidth;
	uint64_t most = (uint64_t)(bound / p->best.per_value), near;

	set_worths(p);
	for (near = 32; near >= 4; near -= near / 3) {
		p->goal = most - most / near;
		if (p->goal <= p->found.value)
			break;
		try_all(p);
		if (p->full || p->found.value >= p->goal)
			return;
	}
	p->goal = p->found.value;
	try_all(p);
}

static bool in_bounds(const struct cot_alloc_task *tasks, uint32_t n, uint32_t n_units)
{
	uint32_t i, m;

	if (n > T_MAX || n_units > U_MAX)
		return false;
	for (i = 0; i < n; i++)
		for (m = 0; m < n_units; m++)
			if (tasks[i].value[m] > COT_ALLOC_MOST ||
			    tasks[i].bandwidth[m] > COT_ALLOC_MOST)
				return false;
	return true;
}

int cot_alloc(const struct cot_alloc_task *tasks, uint32_t n, uint32_t n_units, uint64_t bandwidth,
	      struct cot_alloc *ret)
{
	struct problem p;
	struct cot_alloc free_of_charge;
	uint32_t i;

	if (!in_bounds(tasks, n, n_units))
		return -EINVAL;
	p.n = n;
	p.n_units = n_units;
	p.bandwidth = bandwidth < UINT32_MAX ? bandwidth : UINT32_MAX; /* more than all together */
	p.full = false;
	p.found = (struct cot_alloc){0};
	for (i = 0; i < n; i++)
		list_options(&p, &tasks[i], i);
	p.none.per_value = 1;
	p.none.per_bw = 0;
	set_price(&p, &p.none);
	free_of_charge = best_at(&p, &p.none);
	if (free_of_charge.bandwidth > p.bandwidth) {
		seek_price(&p, free_of_charge);
		fill_up(&p);
	} else {
		p.found = free_of_charge;
		p.best = p.none;
	}
	try_goals(&p);
	*ret = p.found;
	ret->exact = !p.full;
	return 0;
}

uint64_t cot_alloc_ipc_milli(uint64_t insns, uint64_t ns, uint32_t clock_mhz)
{
	cot_u128 cycles_milli = (cot_u128)ns * clock_mhz; /* thousandths of a cycle */

	return cycles_milli ? (uint64_t)((cot_u128)insns * 1000000 / cycles_milli) : 0;
}
