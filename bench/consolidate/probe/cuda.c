#include "cuda.h"

#include <dlfcn.h>
#include <string.h>

int probe_cuda_open(struct cuda *cuda)
{
	void *symbol, *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	memset(cuda, 0, sizeof(*cuda));
	if (!library)
		return 0;
#define F(name, parameters)             \
	symbol = dlsym(library, #name); \
	memcpy((void *)&cuda->name, &symbol, sizeof(symbol));
	PROBE_CALLS(F)
#undef F
	return 1;
}

const char probe_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 by, .param .u32 plus)\n"
	"{\n"
	".reg .pred %q; .reg .b32 %i, %n, %b, %c, %v, %s; .reg .b64 %a, %o;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %n, [n]; ld.param.u32 %b, [by]; ld.param.u32 %c, [plus];\n"
	"mov.u32 %i, %ctaid.x; mov.u32 %s, %ntid.x; mov.u32 %v, %tid.x;\n"
	"mad.lo.u32 %i, %i, %s, %v;\n"
	"setp.ge.u32 %q, %i, %n; @%q bra END;\n"
	"mul.wide.u32 %o, %i, 4; add.u64 %a, %a, %o;\n"
	"ld.global.u32 %v, [%a]; mad.lo.u32 %v, %v, %b, %c; add.u32 %v, %v, %i;\n"
	"st.global.u32 [%a], %v;\n"
	"END: ret;\n"
	"}\n"
	".visible .entry mark(.param .u64 p, .param .u32 value, .param .u64 ns)\n"
	"{\n"
	".reg .pred %q; .reg .b32 %v; .reg .b64 %a, %t, %e, %n;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %v, [value]; ld.param.u64 %n, [ns];\n"
	"mov.u64 %e, %globaltimer; add.u64 %e, %e, %n;\n"
	"AGAIN: mov.u64 %t, %globaltimer; setp.lt.u64 %q, %t, %e; @%q bra AGAIN;\n"
	"st.volatile.global.u32 [%a], %v; st.volatile.global.u64 [%a+8], %t;\n"
	"ret;\n"
	"}\n"
	".visible .entry look(.param .u64 from, .param .u64 to)\n"
	"{\n"
	".reg .b32 %v; .reg .b64 %f, %o, %t;\n"
	"mov.u64 %t, %globaltimer; ld.param.u64 %f, [from]; ld.param.u64 %o, [to];\n"
	"ld.volatile.global.u32 %v, [%f];\n"
	"st.volatile.global.u32 [%o], %v; st.volatile.global.u64 [%o+8], %t;\n"
	"ret;\n"
	"}\n"
	".visible .entry wrong(.param .u64 p)\n"
	"{\n"
	".reg .b32 %v; .reg .b64 %a;\n"
	"ld.param.u64 %a, [p]; mov.u32 %v, 1; st.volatile.global.u32 [%a], %v; ret;\n"
	"}\n";
