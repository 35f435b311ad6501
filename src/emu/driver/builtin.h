/* The image that cuModuleLoadData takes for the built-in test kernels; see builtin.c. */
#ifndef COT_EMU_DRIVER_BUILTIN_H
#define COT_EMU_DRIVER_BUILTIN_H

#define COT_EMU_BUILTIN_IMAGE "cotenant emulated kernels 1"

#endif
