/* Lines on stderr, when the user asks for them. */
#ifndef COT_GUEST_LOG_H
#define COT_GUEST_LOG_H

#include "base/compiler.h"

enum cot_log_level { COT_LOG_NONE, COT_LOG_ERROR, COT_LOG_WARN, COT_LOG_INFO, COT_LOG_DEBUG };

void cot_log_level_set(enum cot_log_level level);
void cot_log(enum cot_log_level level, const char *fmt, ...) COT_PRINTF(2, 3);

#endif
