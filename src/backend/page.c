/* Slots of launches; see backend.h for who changes what. */
#include <string.h>

#include "backend/backend.h"

#define STATES 8u

static uint64_t with(uint64_t word, enum cot_backend_state state)
{
	return word / STATES * STATES + state;
}

static bool change(struct cot_backend_slot *slot, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong(&slot->word, &from, to);
}

/* ---- the program ---- */

int cot_backend_post(struct cot_backend_page *page, const struct cot_backend_launch *launch,
		     uint64_t *ret_word)
{
	uint64_t word, own;
	unsigned i;

	for (i = 0; i < COT_BACKEND_SLOTS; i++) {
		struct cot_backend_slot *s = &page->slots[i];

		word = atomic_load(&s->word);
		own = (word / STATES + 1) * STATES;
		/* LAUNCHING of the new number: another thread of the program passes it by, and the
		 * backend does not take it. */
		if (cot_backend_state_of(word) != COT_BACKEND_FREE ||
		    !change(s, word, own + COT_BACKEND_LAUNCHING))
			continue;
		memcpy(&s->launch, launch,
		       offsetof(struct cot_backend_launch, params) + launch->params_bytes);
		atomic_store(&s->word, own + COT_BACKEND_POSTED);
		*ret_word = own + COT_BACKEND_POSTED;
		return (int)i;
	}
	return -1;
}

bool cot_backend_withdraw(struct cot_backend_slot *slot, uint64_t posted)
{
	return change(slot, posted, with(posted, COT_BACKEND_FREE)) ||
	       change(slot, with(posted, COT_BACKEND_TAKEN), with(posted, COT_BACKEND_FREE));
}

void cot_backend_clear(struct cot_backend_slot *slot, uint64_t posted)
{
	atomic_store(&slot->word, with(posted, COT_BACKEND_FREE));
}

enum cot_backend_state cot_backend_look(const struct cot_backend_slot *slot, uint64_t posted)
{
	uint64_t word = atomic_load(&slot->word);

	return word / STATES == posted / STATES ? cot_backend_state_of(word) : COT_BACKEND_FREE;
}

/* ---- the backend ---- */

bool cot_backend_launch_is_sound(const struct cot_backend_launch *l)
{
	uint64_t plane = (uint64_t)l->grid[0] * l->grid[1],
		 row = (uint64_t)l->block[0] * l->block[1];

	return l->kernel < COT_BACKEND_KERNELS && l->params_bytes <= COT_BACKEND_PARAMS && plane &&
	       l->grid[2] && plane <= COT_BACKEND_BLOCKS_MAX &&
	       plane * l->grid[2] <= COT_BACKEND_BLOCKS_MAX && row && l->block[2] &&
	       row <= COT_BACKEND_THREADS_MAX && row * l->block[2] <= COT_BACKEND_THREADS_MAX;
}

uint32_t cot_backend_blocks(const struct cot_backend_launch *l)
{
	return l->grid[0] * l->grid[1] * l->grid[2];
}

bool cot_backend_take(struct cot_backend_slot *slot, struct cot_backend_launch *ret_launch,
		      uint64_t *ret_word)
{
	uint64_t word = atomic_load(&slot->word), taken = with(word, COT_BACKEND_TAKEN);

	if (cot_backend_state_of(word) != COT_BACKEND_POSTED || !change(slot, word, taken))
		return false;
	/* A copy first: the program can still write to it. */
	memcpy(ret_launch, &slot->launch, sizeof(*ret_launch));
	if (cot_backend_launch_is_sound(ret_launch)) {
		*ret_word = taken;
		return true;
	}
	cot_backend_give_back(slot, taken, COT_BACKEND_WHY_REFUSED);
	return false;
}

bool cot_backend_begin(struct cot_backend_slot *slot, uint64_t taken)
{
	return change(slot, taken, with(taken, COT_BACKEND_LAUNCHING));
}

void cot_backend_launched(struct cot_backend_slot *slot, uint64_t taken, uint64_t number,
			  uint32_t n)
{
	atomic_store(&slot->number, number);
	atomic_store(&slot->n, n);
	(void)change(slot, with(taken, COT_BACKEND_LAUNCHING), with(taken, COT_BACKEND_LAUNCHED));
}

void cot_backend_give_back(struct cot_backend_slot *slot, uint64_t taken, enum cot_backend_why why)
{
	atomic_store(&slot->why, why);
	if (!change(slot, taken, with(taken, COT_BACKEND_BACK)))
		(void)change(slot, with(taken, COT_BACKEND_LAUNCHING),
			     with(taken, COT_BACKEND_BACK));
}
