/* What the preloaded stand-in and the test share. */
#ifndef COT_TESTS_FAKE_STATE_H
#define COT_TESTS_FAKE_STATE_H

#include "support/fake_rm.h"

struct fake_state {
	_Atomic int locked;
	struct fake_rm rm;
};

#endif
