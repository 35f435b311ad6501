/* Memory that two processes have: which addresses it gets, and whether its bits are right. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe.h"

/* From 128 GiB to 112 TiB; programs' own mappings are at 94 TiB (0x55...) and 127 TiB (0x7f...). */
static const pointer hints[HINTS_MAX] = {
	0x002000000000, 0x010000000000, 0x040000000000, 0x100000000000,
	0x200000000000, 0x300000000000, 0x600000000000, 0x700000000000,
};

static void find_gaps(struct side *s)
{
	uint64_t begin, end, last = (uint64_t)1 << 32;
	uint32_t *n = &s->shared->n_gaps[s->who];
	char line[512], *rest;
	FILE *maps = fopen("/proc/self/maps", "r");

	if (!maps)
		return;
	while (fgets(line, sizeof(line), maps) && *n < GAPS_MAX) {
		begin = strtoull(line, &rest, 16);
		if (*rest != '-')
			continue;
		end = strtoull(rest + 1, NULL, 16);
		if (begin > last && begin - last >= WINDOW_BYTES && begin < (uint64_t)1 << 47)
			s->shared->gaps[s->who][(*n)++] = (struct gap){last, begin};
		last = end > last ? end : last;
	}
	fclose(maps);
}

/* Ranges that are free in both, of at least a window. Said by A. */
static void say_gaps(struct side *s)
{
	const struct shared *sh = s->shared;
	char text[1500] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < sh->n_gaps[A]; i++) {
		for (uint32_t j = 0; j < sh->n_gaps[B]; j++) {
			struct gap a = sh->gaps[A][i], b = sh->gaps[B][j];
			uint64_t begin = a.begin > b.begin ? a.begin : b.begin;
			uint64_t end = a.end < b.end ? a.end : b.end;

			if (end <= begin || end - begin < WINDOW_BYTES || n + 64 > sizeof(text))
				continue;
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "%s[\"0x%" PRIx64 "\", \"0x%" PRIx64 "\"]",
					      n ? ", " : "", begin, end);
		}
	}
	probe_say(s, "\"free_in_both\": [%s]", text);
}

/* Tries all hints. Keeps the first that both got, in memory; 0: none. */
static bool reserve(struct side *s, bool say)
{
	const struct shared *sh = s->shared;
	pointer *mine = s->shared->reserved[s->who], kept = 0;
	char text[1500] = "";
	size_t n = 0;

	for (int i = 0; i < HINTS_MAX; i++) {
		mine[i] = 0;
		if (!CALL(s, cuMemAddressReserve, (&mine[i], WINDOW_BYTES, 0, hints[i], 0)))
			return false;
	}
	if (!probe_meet(s))
		return false;
	for (int i = 0; i < HINTS_MAX; i++) {
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%s{\"asked\": \"0x%llx\", \"got\": \"0x%llx\"}",
				      n ? ", " : "", hints[i], mine[i]);
		if (!kept && sh->reserved[A][i] == hints[i] && sh->reserved[B][i] == hints[i])
			kept = hints[i];
		else if (!CALL(s, cuMemAddressFree, (mine[i], WINDOW_BYTES)))
			return false;
	}
	if (say)
		probe_say(s, "\"window_bytes\": %zu, \"reserved\": [%s]", WINDOW_BYTES, text);
	if (!kept)
		return probe_fail(s, "no address was given to both");
	s->memory = kept;
	return probe_meet(s);
}

static bool map(struct side *s, unsigned long long handle)
{
	const struct access access = {.location = {.type = LOCATION_DEVICE},
				      .flags = ACCESS_READ_WRITE};

	return CALL(s, cuMemMap, (s->memory, CHUNK_BYTES, 0, handle, 0)) &&
	       CALL(s, cuMemSetAccess, (s->memory, CHUNK_BYTES, &access, 1));
}

static bool map_both(struct side *s, bool say)
{
	const struct memory_kind kind = {
		.type = MEMORY_PINNED, .handles = HANDLE_FD, .location = {.type = LOCATION_DEVICE}};
	unsigned long long handle = 0;
	double begin_us = probe_now_us();
	int fd = -1;
	bool good;

	if (s->who == A) {
		good = CALL(s, cuMemCreate, (&handle, CHUNK_BYTES, &kind, 0)) &&
		       CALL(s, cuMemExportToShareableHandle, (&fd, handle, HANDLE_FD, 0)) &&
		       probe_meet(s) && probe_send(s, fd) && map(s, handle);
	} else {
		fd = probe_meet(s) ? probe_receive(s) : -1;
		begin_us = probe_now_us();
		good = fd >= 0 &&
		       CALL(s, cuMemImportFromShareableHandle,
			    (&handle, (void *)(intptr_t)fd, HANDLE_FD)) &&
		       map(s, handle);
	}
	if (fd >= 0)
		close(fd);
	if (good && say)
		probe_say(s, "\"address\": \"0x%llx\", \"chunk_bytes\": %zu, \"map_us\": %.0f",
			  s->memory, CHUNK_BYTES, probe_now_us() - begin_us);
	return good && probe_meet(s);
}

/* A fills, B works on what A filled, A reads. */
static bool bits_right(struct side *s, bool *ret_right)
{
	enum { N = 1 << 20 };
	static uint32_t read[N];
	uint32_t n_wrong = 0;

	/* The memory is set in another stream than the one with the kernel. */
	if (s->who == A &&
	    !(CALL(s, cuMemsetD32_v2, (s->memory, 7, N)) && CALL(s, cuStreamSynchronize, (NULL)) &&
	      probe_fill(s, s->memory, N, 3, 1) && CALL(s, cuStreamSynchronize, (s->stream))))
		return false;
	if (!probe_meet(s))
		return false;
	if (s->who == B &&
	    !(probe_fill(s, s->memory, N, 5, 2) && CALL(s, cuStreamSynchronize, (s->stream))))
		return false;
	if (!probe_meet(s))
		return false;
	if (s->who == B)
		return true;
	if (!CALL(s, cuMemcpyDtoH_v2, (read, s->memory, sizeof(read))))
		return false;
	for (uint32_t i = 0; i < N; i++)
		n_wrong += read[i] != (7u * 3 + 1 + i) * 5 + 2 + i;
	probe_say(s, "\"words\": %d, \"words_wrong\": %u", N, n_wrong);
	*ret_right = n_wrong == 0;
	return true;
}

bool probe_addresses(struct side *s)
{
	size_t least = 0;
	const struct memory_kind kind = {
		.type = MEMORY_PINNED, .handles = HANDLE_FD, .location = {.type = LOCATION_DEVICE}};
	bool right = false;

	find_gaps(s);
	if (!probe_meet(s))
		return false;
	if (s->who == A)
		say_gaps(s);
	if (!CALL(s, cuMemGetAllocationGranularity, (&least, &kind, 0)))
		return false;
	probe_say(s, "\"granularity_bytes\": %zu", least);
	if (!reserve(s, true) || !map_both(s, true) || !bits_right(s, &right))
		return false;
	if (s->who == A)
		s->shared->right = right;
	return true;
}

static bool share_by_handle(struct side *s)
{
	struct shared *sh = s->shared;

	if (s->who == A && !(CALL(s, cuMemAlloc_v2, (&s->memory, CHUNK_BYTES)) &&
			     CALL(s, cuIpcGetMemHandle, (&sh->memory, s->memory))))
		return false;
	if (!probe_meet(s))
		return false;
	if (s->who == B && !CALL(s, cuIpcOpenMemHandle_v2, (&s->memory, sh->memory, OPEN_LAZILY)))
		return false;
	sh->ipc_address[s->who] = s->memory;
	if (!probe_meet(s))
		return false;
	s->same_address = sh->ipc_address[A] == sh->ipc_address[B];
	return true;
}

static bool share_mapped(struct side *s)
{
	s->same_address = true;
	return reserve(s, false) && map_both(s, false);
}

bool probe_ipc_memory(struct side *s)
{
	bool right = false;

	if (!share_by_handle(s))
		return false;
	probe_say(s, "\"address\": \"0x%llx\"", s->memory);
	if (s->who == A)
		probe_say(s, "\"same_address\": %s", s->same_address ? "true" : "false");
	if (!bits_right(s, &right))
		return false;
	if (s->who == A)
		s->shared->right = right;
	return true;
}

static bool share_host(struct side *s)
{
	s->memory = (uintptr_t)s->shared->host;
	s->same_address = true;
	return CALL(s, cuMemHostRegister_v2, (s->shared->host, CHUNK_BYTES, HOST_MAPPED)) &&
	       probe_meet(s);
}

static bool other_says(struct side *s, const _Atomic uint32_t *value)
{
	for (int i = 0; i < (int)(WAIT_S * 1000) && !*value; i++)
		probe_pause_us(1000);
	return *value || probe_fail(s, "waited for the other for %.0f s", WAIT_S);
}

/* Whether the way worked for both; if it did not, both are as before it. */
static bool agree(struct side *s, int way, bool worked, bool *ret_worked)
{
	struct shared *sh = s->shared;

	sh->tried[way][s->who] = worked ? 1 : 2;
	if (!other_says(s, &sh->tried[way][!s->who]))
		return false;
	*ret_worked = worked && sh->tried[way][!s->who] == 1;
	if (*ret_worked)
		return true;
	sh->met[s->who] = 1000u * (uint32_t)(way + 1);
	sh->failure[s->who][0] = '\0';
	sh->failed[s->who] = false;
	sh->again[way][s->who] = 1;
	return other_says(s, &sh->again[way][!s->who]);
}

bool probe_share(struct side *s)
{
	static const struct {
		const char *name;
		bool (*share)(struct side *s);
	} ways[SHARE_WAYS] = {
		{"mapped at equal addresses", share_mapped},
		{"opened by a handle", share_by_handle},
		{"the host's", share_host},
	};
	bool worked = false;

	for (int i = 0; i < SHARE_WAYS; i++) {
		if (!agree(s, i, ways[i].share(s), &worked))
			return false;
		if (worked) {
			probe_say(s, "\"memory\": \"%s\"", ways[i].name);
			return true;
		}
	}
	return probe_fail(s, "the two can have no memory together");
}
