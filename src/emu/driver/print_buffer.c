#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/driver/grid.h"

/* How much kernels may print before the program waits; more appears at once. */
#define BUFFER_BYTES (1u << 20)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *buffer; /* under the lock */
static size_t used;

static void flush(void)
{
	if (!used)
		return;
	(void)fwrite(buffer, 1, used, stdout);
	(void)fflush(stdout);
	used = 0;
}

void cot_emu_print(const char *text, size_t length)
{
	pthread_mutex_lock(&lock);
	if (!buffer)
		buffer = malloc(BUFFER_BYTES);
	if (used + length > BUFFER_BYTES)
		flush();
	if (!buffer || length > BUFFER_BYTES) {
		(void)fwrite(text, 1, length, stdout);
	} else {
		memcpy(buffer + used, text, length);
		used += length;
	}
	pthread_mutex_unlock(&lock);
}

void cot_emu_print_flush(void)
{
	pthread_mutex_lock(&lock);
	flush();
	pthread_mutex_unlock(&lock);
}
