/*
 * Locks in tests with one thread, to be included before the unit: taking one that is held, which
 * would wait for ever, and dropping one that is not, fail at once. Played parts say whether they
 * are called with the lock.
 */
#ifndef COT_TESTS_LOCKED_H
#define COT_TESTS_LOCKED_H

#include <pthread.h>
#include <stdbool.h>

#include "test.h"

static inline bool is_locked(pthread_mutex_t *lock)
{
	if (pthread_mutex_trylock(lock))
		return true;
	pthread_mutex_unlock(lock);
	return false;
}

static inline int take_lock(pthread_mutex_t *lock)
{
	int rc = pthread_mutex_trylock(lock);

	assert_int_equal(rc, 0);
	return rc;
}

static inline int drop_lock(pthread_mutex_t *lock)
{
	assert_true(is_locked(lock));
	return pthread_mutex_unlock(lock);
}

#define pthread_mutex_lock   take_lock
#define pthread_mutex_unlock drop_lock

#endif
