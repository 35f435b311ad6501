/*
 * cotenant top: what the daemon says, as rows, and the rows as lines of any width. Both are
 * functions of their arguments alone; top.c draws the lines on a terminal and takes keys.
 */
#ifndef COT_CLI_TOP_H
#define COT_CLI_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define COT_TOP_WIDTH_MIN 20u
#define COT_TOP_WIDTH_MAX 250u
#define COT_TOP_TEXT_MAX  96u

/* ---- rows ---- */

enum cot_top_sort {
	COT_TOP_BY_ID,
	COT_TOP_BY_NAME,
	COT_TOP_BY_CLASS,
	COT_TOP_BY_P99,
	COT_TOP_BY_REQUESTS,
	COT_TOP_BY_LAUNCHES,
	COT_TOP_BY_SMS,
	COT_TOP_BY_FREEZES,
	COT_TOP_BY_MEMORY,
	COT_TOP_BY_POWER,
	COT_TOP_BY_GPU,
	COT_TOP_N_SORTS
};

extern const char *const cot_top_sort_words[COT_TOP_N_SORTS];

/* A pool or a program. A number that is not known is negative. */
struct cot_top_row {
	bool is_pool;
	bool is_latency;
	bool frozen, stuck, missed; /* a thaw of it fails; its p99 is above its target */
	long long id;
	char name[COT_TOP_TEXT_MAX]; /* of a pool as commands take it: "pool:latency:0" */
	char class_[16], gpus[24], pool[16], state[24], share[16];
	double weight, slice_us, sms, gpu_sms, per_second, p99_ms, target_ms, alone, launches;
	double freezes, evictions, programs;
	double memory, memory_max; /* bytes: in use, and its bound */
	double mean_w;		   /* its share of its GPUs' power since it began */
};

struct cot_top_rows {
	struct cot_top_row *row;
	size_t n;
};

struct cot_top_view {
	enum cot_top_sort sort;
	bool reverse;
	char filter[COT_TOP_TEXT_MAX]; /* a part of the name, class or pool; empty: all */
	long long selected;	       /* id; 0: none */
	const char *message;	       /* instead of the last line; NULL: none */
};

/* Pools come first, then programs as the view wants them. 0 or -ENOMEM. */
int cot_top_rows_create(const json_t *stats, const struct cot_top_view *view,
			struct cot_top_rows *ret_rows);
void cot_top_rows_destroy(struct cot_top_rows *rows);

/* The rows as cotenant.top/1, for json_decref(); what is not known is left out. */
json_t *cot_top_json(const struct cot_top_rows *rows);

/* ---- lines ---- */

enum cot_top_tone { COT_TOP_PLAIN, COT_TOP_HEAD, COT_TOP_BAD, COT_TOP_COLD };

struct cot_top_line {
	char text[4 * COT_TOP_WIDTH_MAX + 1]; /* at most as wide as asked; UTF-8 */
	enum cot_top_tone tone;
	long long id; /* of its row; 0: none */
};

/* The first `n_head` lines stay where they are when the others scroll. */
struct cot_top_picture {
	struct cot_top_line *line;
	size_t n, n_head;
};

/* `stats` NULL: no daemon answers. 0 or -ENOMEM. */
int cot_top_picture_create(const json_t *stats, const struct cot_top_rows *rows,
			   const struct cot_top_view *view, unsigned width,
			   struct cot_top_picture *ret_picture);
void cot_top_picture_destroy(struct cot_top_picture *picture);

/* The first of the lines after the head that is to be seen where there is room for so many, so that
 * the selected one is among them. `first` is that of before. */
size_t cot_top_scroll(const struct cot_top_picture *picture, long long selected, size_t first,
		      size_t room);

/* ---- the terminal ---- */

struct cot_top_wish {
	struct cot_top_view view;
	unsigned interval_ms;
};

/* Draws until the user has enough. Returns an exit status. */
int cot_top_interact(struct cot_top_wish *wish);

#endif
