/* The entry points that do more than pass on; also the declarations of all that driver.def has. */
#ifndef COT_SHIM_ENTRY_H
#define COT_SHIM_ENTRY_H

#include "shim/shim.h"

#define CALL(name, params) COT_SHIM_API int name params;
#include "shim/driver.def"
#undef CALL

#endif
