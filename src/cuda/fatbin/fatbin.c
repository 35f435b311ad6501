#include "cuda/fatbin/fatbin.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ENTRY_BYTES 64u /* that every entry's header has */

#define FLAG_LZ4      0x2000u
#define FLAG_ZSTD     0x8000u
#define FLAG_OLD_PACK 0x1000u /* an older compression, of CUDA 4 */
#define FLAG_SPECIFIC 0x100000u
#define FLAG_FAMILY   0x200000u

static uint64_t read_bits(const unsigned char *at, unsigned bytes)
{
	uint64_t v = 0;
	unsigned i;

	for (i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << (8 * i);
	return v;
}

static uint16_t u16(const unsigned char *at)
{
	return (uint16_t)read_bits(at, 2);
}

static uint32_t u32(const unsigned char *at)
{
	return (uint32_t)read_bits(at, 4);
}

static uint64_t u64(const unsigned char *at)
{
	return read_bits(at, 8);
}

size_t cot_fatbin_size(const void *header)
{
	const unsigned char *h = header;

	if (u32(h) != COT_FATBIN_MAGIC || u64(h + 8) > SIZE_MAX - u16(h + 6))
		return 0;
	return (size_t)(u16(h + 6) + u64(h + 8));
}

int cot_fatbin_open(struct cot_fatbin *f, const void *bytes, size_t n, struct cot_error *err)
{
	size_t size;

	if (n < COT_FATBIN_HEADER_BYTES || u32(bytes) != COT_FATBIN_MAGIC)
		return cot_error_set(err, -EBADMSG,
				     "not a fat binary: expected a header with the "
				     "number 0xBA55ED50");
	size = cot_fatbin_size(bytes);
	if (u16((const unsigned char *)bytes + 6) < COT_FATBIN_HEADER_BYTES || !size || size > n)
		return cot_error_set(err, -EBADMSG,
				     "fat binary: the header says %zu bytes, expected %u to %zu",
				     size, COT_FATBIN_HEADER_BYTES, n);
	*f = (struct cot_fatbin){
		.bytes = bytes, .n = size, .at = u16((const unsigned char *)bytes + 6)};
	return 0;
}

static enum cot_fatbin_packing packing_of(uint64_t flags)
{
	if (flags & FLAG_ZSTD)
		return COT_FATBIN_ZSTD;
	if (flags & FLAG_LZ4)
		return COT_FATBIN_LZ4;
	return flags & FLAG_OLD_PACK ? COT_FATBIN_UNKNOWN : COT_FATBIN_RAW;
}

int cot_fatbin_next(struct cot_fatbin *f, struct cot_fatbin_entry *ret_entry, struct cot_error *err)
{
	const unsigned char *e = f->bytes + f->at;
	size_t left = f->n - f->at;
	uint64_t stored, flags;
	uint32_t header, exact;

	if (!left)
		return -ENOENT;
	if (++f->n_entries > COT_FATBIN_MAX_ENTRIES)
		return cot_error_set(err, -EBADMSG, "fat binary: more than %u entries",
				     COT_FATBIN_MAX_ENTRIES);
	if (left < ENTRY_BYTES)
		return cot_error_set(err, -EBADMSG,
				     "fat binary: entry %u has %zu bytes, expected a header of %u",
				     f->n_entries, left, ENTRY_BYTES);
	header = u32(e + 4);
	stored = u64(e + 8);
	exact = u32(e + 16);
	flags = u64(e + 40);
	if (header < ENTRY_BYTES || header > left || stored > left - header || exact > stored)
		return cot_error_set(err, -EBADMSG,
				     "fat binary: entry %u does not fit: a header of %u bytes and "
				     "%llu stored ones in %zu",
				     f->n_entries, header, (unsigned long long)stored, left);
	*ret_entry = (struct cot_fatbin_entry){
		.kind = u16(e),
		.arch = u32(e + 28),
		.specific = flags & FLAG_SPECIFIC,
		.family = flags & FLAG_FAMILY,
		.packing = packing_of(flags),
		.bytes = e + header,
		.n_bytes = exact ? exact : (size_t)stored,
		.raw_bytes = u64(e + 56),
	};
	f->at += header + (size_t)stored;
	return 0;
}

/* ---- choosing ---- */

/* A higher number is a better choice; 0: it cannot be used. */
static uint32_t rank(const struct cot_fatbin_entry *e, uint32_t target, bool newer)
{
	if (e->kind != COT_FATBIN_PTX || e->arch > 100000)
		return 0;
	if (e->arch > target)
		return newer && !e->specific && !e->family ? 100001 - e->arch : 0;
	if (e->specific && e->arch != target)
		return 0;
	if (e->family && e->arch / 10 != target / 10)
		return 0;
	/* Of two for the same GPU, the one for all GPUs. */
	return 200002 + 2 * e->arch + (e->specific || e->family ? 0 : 1);
}

/* Adds "sm_90 (machine code)" to the list of what there is. */
static void list(char *text, size_t size, const struct cot_fatbin_entry *e)
{
	size_t n = strlen(text);

	(void)snprintf(text + n, size - n, "%s%s_%u%s", n ? ", " : "",
		       e->kind == COT_FATBIN_PTX ? "PTX for compute" : "machine code for sm",
		       e->arch, e->specific ? "a" : "");
}

int cot_fatbin_choose(const void *bytes, size_t n, uint32_t target, bool newer,
		      struct cot_fatbin_entry *ret_entry, struct cot_error *err)
{
	struct cot_fatbin_entry e;
	uint32_t best = 0, r;
	struct cot_fatbin f;
	char there[160] = "";
	int rc = cot_fatbin_open(&f, bytes, n, err);

	if (rc)
		return rc;
	while (!(rc = cot_fatbin_next(&f, &e, err))) {
		r = rank(&e, target, newer);
		if (r > best) {
			best = r;
			*ret_entry = e;
		}
		list(there, sizeof(there), &e);
	}
	if (rc != -ENOENT)
		return rc;
	if (best)
		return 0;
	return cot_error_set(err, -ENOENT,
			     "no PTX for compute_%u or older in the fat binary, only %s", target,
			     *there ? there : "nothing");
}

uint32_t cot_fatbin_newest_code(const void *bytes, size_t n, uint32_t target)
{
	struct cot_fatbin_entry e;
	struct cot_fatbin f;
	uint32_t newest = 0;

	if (cot_fatbin_open(&f, bytes, n, NULL))
		return 0;
	while (!cot_fatbin_next(&f, &e, NULL))
		if (e.kind == COT_FATBIN_ELF && e.arch <= target && e.arch / 10 == target / 10 &&
		    e.arch > newest)
			newest = e.arch;
	return newest;
}
