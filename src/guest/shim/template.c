/*
 * A rewritten module as bytes: a header, each kernel with its name and parameters, each refused
 * kernel, and the text. All numbers are of 32 bits, as the machine has them: the file is for this
 * machine's user only. A checksum of all that follows it tells damage; what it does not tell is
 * looked at as well.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/shim/template.h"
#include "ptx/pass/pass.h"
#include "ptx/ptx.h"

#define MAGIC	      "cot-mrg1"
#define MAGIC_BYTES   8u
#define KEY_BYTES     (COT_SHA256_TEXT - 1)
#define SUM_AT	      MAGIC_BYTES
#define KEY_AT	      (SUM_AT + KEY_BYTES)
#define BODY_AT	      (KEY_AT + KEY_BYTES)
#define KERNELS_MAX   65536u
#define NAME_MAX_LONG 16384u
#define PARAMS_MAX    65536u /* bytes of a kernel's parameters */
#define ALIGN_MAX     4096u

const char *cot_shim_template_key(const char *text, size_t length, unsigned newest, unsigned target,
				  char ret_key[COT_SHA256_TEXT])
{
	char all[COT_SHA256_TEXT + 96], of_text[COT_SHA256_TEXT];

	(void)snprintf(all, sizeof(all), MAGIC " passes %u ptx %u sm %u %s", COT_SHIM_MERGE_VERSION,
		       newest, target, cot_sha256(text, length, of_text));
	return cot_sha256(all, strlen(all), ret_key);
}

/* ---- writing ---- */

struct writer {
	unsigned char *bytes; /* NULL: only counted */
	size_t at;
};

static void put(struct writer *w, const void *from, size_t n)
{
	if (w->bytes && n)
		memcpy(w->bytes + w->at, from, n);
	w->at += n;
}

static void put_number(struct writer *w, uint32_t x)
{
	put(w, &x, sizeof(x));
}

static void put_text(struct writer *w, const char *text)
{
	size_t n = strlen(text);

	put_number(w, (uint32_t)n);
	put(w, text, n);
}

static void put_kernel(struct writer *w, const struct cot_shim_kernel *k)
{
	put_text(w, k->name);
	put_number(w, k->n_params);
	put_number(w, k->args_at);
	put_number(w, k->params_bytes);
	put_number(w, k->align);
	put(w, k->params, k->n_params * sizeof(k->params[0]));
}

static void put_all(struct writer *w, const struct cot_shim_rewritten *r)
{
	unsigned i;

	put_number(w, r->n_kernels);
	for (i = 0; i < r->n_kernels; i++)
		put_kernel(w, &r->kernels[i]);
	put_number(w, r->n_fused);
	put(w, r->fused, r->n_fused * sizeof(r->fused[0]));
	put_number(w, r->n_refusals);
	for (i = 0; i < r->n_refusals; i++) {
		put_text(w, r->refusals[i].name);
		put_number(w, r->refusals[i].reason);
	}
	put_text(w, r->text);
}

int cot_shim_template_write(const struct cot_shim_rewritten *r, const char *key,
			    unsigned char **ret_bytes, size_t *ret_n)
{
	struct writer w = {NULL, BODY_AT};
	char sum[COT_SHA256_TEXT];

	put_all(&w, r);
	if (w.at > COT_SHIM_STORE_FILE_BYTES)
		return -E2BIG;
	w = (struct writer){malloc(w.at), 0};
	if (!w.bytes)
		return -ENOMEM;
	put(&w, MAGIC, MAGIC_BYTES);
	w.at = KEY_AT;
	put(&w, key, KEY_BYTES);
	put_all(&w, r);
	memcpy(w.bytes + SUM_AT, cot_sha256(w.bytes + KEY_AT, w.at - KEY_AT, sum), KEY_BYTES);
	*ret_bytes = w.bytes;
	*ret_n = w.at;
	return 0;
}

/* ---- reading ---- */

struct reader {
	const unsigned char *bytes;
	size_t at, n;
	int rc; /* the first that was wrong: all after it is 0, or NULL */
};

static const unsigned char *take(struct reader *r, size_t n)
{
	const unsigned char *from = r->bytes + r->at;

	if (r->rc || n > r->n - r->at) {
		r->rc = r->rc ? r->rc : -EINVAL;
		return NULL;
	}
	r->at += n;
	return from;
}

/* `most`: more is an error. */
static uint32_t take_number(struct reader *r, uint32_t most)
{
	const unsigned char *from = take(r, sizeof(uint32_t));
	uint32_t x = 0;

	if (from)
		memcpy(&x, from, sizeof(x));
	if (x > most)
		r->rc = -EINVAL;
	return r->rc ? 0 : x;
}

static char *take_text(struct reader *r, uint32_t most)
{
	uint32_t n = take_number(r, most);
	const unsigned char *from = take(r, n);
	char *text;

	if (!from || memchr(from, '\0', n)) {
		r->rc = r->rc ? r->rc : -EINVAL;
		return NULL;
	}
	text = malloc((size_t)n + 1);
	if (!text) {
		r->rc = -ENOMEM;
		return NULL;
	}
	memcpy(text, from, n);
	text[n] = '\0';
	return text;
}

/* Room for n of what takes at least `bytes` in the file each. */
static void *make_list(struct reader *r, uint32_t n, size_t bytes, size_t size)
{
	void *list;

	if (r->rc || n > (r->n - r->at) / bytes) {
		r->rc = r->rc ? r->rc : -EINVAL;
		return NULL;
	}
	list = calloc(n ? n : 1, size);
	if (!list)
		r->rc = -ENOMEM;
	return list;
}

static void take_params(struct reader *r, struct cot_shim_kernel *k)
{
	const unsigned char *from;
	uint32_t i;

	k->params = make_list(r, k->n_params, sizeof(k->params[0]), sizeof(k->params[0]));
	from = take(r, k->n_params * sizeof(k->params[0]));
	if (!from || !k->params)
		return;
	memcpy(k->params, from, k->n_params * sizeof(k->params[0]));
	for (i = 0; i < k->n_params; i++)
		if (k->params[i].at > k->params_bytes ||
		    k->params[i].bytes > k->params_bytes - k->params[i].at)
			r->rc = -EINVAL;
}

static void take_kernel(struct reader *r, struct cot_shim_kernel *k)
{
	k->name = take_text(r, NAME_MAX_LONG);
	k->n_params = take_number(r, PARAMS_MAX);
	k->args_at = take_number(r, 2 * PARAMS_MAX);
	k->params_bytes = take_number(r, PARAMS_MAX);
	k->align = take_number(r, ALIGN_MAX);
	if (!k->align || (k->align & (k->align - 1)))
		r->rc = r->rc ? r->rc : -EINVAL;
	take_params(r, k);
}

/* Of kernels that there are. */
static void take_fused(struct reader *r, struct cot_shim_rewritten *made)
{
	uint32_t n = take_number(r, COT_SHIM_FUSED_MAX), set, i;
	unsigned n_kernels;

	if (n && made->n_kernels > COT_SHIM_FUSE_MAX)
		r->rc = -EINVAL;
	for (i = 0; i < n && !r->rc; i++) {
		set = take_number(r, (1u << made->n_kernels) - 1);
		n_kernels = (unsigned)__builtin_popcount(set);
		if (n_kernels < 2 || n_kernels > COT_SHIM_FUSED_KERNELS)
			r->rc = r->rc ? r->rc : -EINVAL;
		made->fused[made->n_fused++] = set;
	}
}

static void take_refusals(struct reader *r, struct cot_shim_rewritten *made)
{
	uint32_t n = take_number(r, KERNELS_MAX), i;

	made->refusals = make_list(r, n, 2 * sizeof(uint32_t), sizeof(made->refusals[0]));
	for (i = 0; i < n && !r->rc; i++) {
		made->refusals[i].name = take_text(r, NAME_MAX_LONG);
		made->n_refusals++;
		made->refusals[i].reason = take_number(r, COT_N_REASONS);
	}
}

static void take_all(struct reader *r, struct cot_shim_rewritten *made)
{
	uint32_t n = take_number(r, KERNELS_MAX), i;

	if (!n)
		r->rc = r->rc ? r->rc : -EINVAL;
	made->kernels = make_list(r, n, 5 * sizeof(uint32_t), sizeof(made->kernels[0]));
	for (i = 0; i < n && !r->rc; i++) {
		made->kernels[i].index = i;
		made->n_kernels++;
		take_kernel(r, &made->kernels[i]);
	}
	take_fused(r, made);
	take_refusals(r, made);
	made->text = take_text(r, COT_SHIM_STORE_FILE_BYTES);
	if (!r->rc && r->at != r->n)
		r->rc = -EINVAL;
}

int cot_shim_template_read(const void *bytes, size_t n, const char *key,
			   struct cot_shim_rewritten *ret)
{
	struct cot_shim_rewritten made = {.suffix = cot_pass_info(COT_PASS_BATCH)->suffix};
	struct reader r = {bytes, BODY_AT, n, 0};
	char sum[COT_SHA256_TEXT];

	if (n < BODY_AT || n > COT_SHIM_STORE_FILE_BYTES ||
	    memcmp(r.bytes, MAGIC, MAGIC_BYTES) != 0 ||
	    memcmp(r.bytes + KEY_AT, key, KEY_BYTES) != 0 ||
	    memcmp(r.bytes + SUM_AT, cot_sha256(r.bytes + KEY_AT, n - KEY_AT, sum), KEY_BYTES) != 0)
		return -EINVAL;
	take_all(&r, &made);
	if (r.rc)
		cot_shim_rewritten_finish(&made);
	else
		*ret = made;
	return r.rc;
}
