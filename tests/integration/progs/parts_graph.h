/* The graphs of parts.c: recorded ones, and some that are built and changed node by node. */
#ifndef COT_TESTS_PARTS_GRAPH_H
#define COT_TESTS_PARTS_GRAPH_H

#include "parts_play.h"

static void join(struct play *p, unsigned event, CUstream from, CUstream to)
{
	PROG_CHECK(cuEventRecord(p->event[event], from));
	PROG_CHECK(cuStreamWaitEvent(to, p->event[event], 0));
}

/* A kernel, beside it a memset, in another stream or in the same one, and a kernel behind both. */
static void record(struct play *p, struct graph *g)
{
	CUstream origin, side;
	bool alone = draw(p, 2);

	g->to = draw(p, BUFFERS);
	g->from = (g->to + 1) % BUFFERS;
	g->set = (g->to + 2) % BUFFERS;
	g->salt = draw(p, UINT32_MAX);
	g->value = draw(p, UINT32_MAX);
	PROG_CHECK(cuStreamCreate(&origin, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuStreamBeginCapture(origin, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	if (!alone)
		join(p, FREE_1, origin, side);
	launch(p, origin, g->to, g->from, g->salt);
	PROG_CHECK(cuMemsetD32Async(p->buffer[g->set], g->value, WORDS / 2, alone ? origin : side));
	if (!alone)
		join(p, FREE_2, side, origin);
	launch(p, origin, g->to, g->set, g->salt + 1);
	PROG_CHECK(cuStreamEndCapture(origin, &g->graph));
	PROG_CHECK(cuGraphInstantiateWithFlags(&g->exec, g->graph, 0));
	PROG_CHECK(cuStreamDestroy(origin));
	PROG_CHECK(cuStreamDestroy(side));
}

static void do_graph(struct play *p, unsigned s)
{
	struct graph *g = &p->graphs[draw(p, GRAPHS)];

	if (g->exec && draw(p, 40) == 0) {
		PROG_CHECK(cuGraphExecDestroy(g->exec));
		PROG_CHECK(cuGraphDestroy(g->graph));
		g->exec = NULL;
	}
	if (!g->exec)
		record(p, g);
	use(p, g->to, s);
	use(p, g->from, s);
	use(p, g->set, s);
	PROG_CHECK(cuGraphLaunch(g->exec, streams[s]));
	mirror_churn(p, g->to, g->from, g->salt);
	mirror_set(p, g->set, g->value);
	mirror_churn(p, g->to, g->set, g->salt + 1);
}

/* ---- built ones: a kernel and a memset, a copy, and a kernel in a graph inside ---- */

static CUDA_KERNEL_NODE_PARAMS kernel_params(const struct built *b, void **args)
{
	return (CUDA_KERNEL_NODE_PARAMS){.func = b->by_kernel ? NULL : churn,
					 .kern = b->by_kernel ? churn_kernel : NULL,
					 .gridDimX = BLOCKS,
					 .gridDimY = 1,
					 .gridDimZ = 1,
					 .blockDimX = THREADS,
					 .blockDimY = 1,
					 .blockDimZ = 1,
					 .kernelParams = args};
}

static CUDA_MEMSET_NODE_PARAMS set_params(struct play *p, const struct built *b)
{
	return (CUDA_MEMSET_NODE_PARAMS){.dst = p->buffer[b->set],
					 .value = b->deed.value,
					 .elementSize = 4,
					 .width = WORDS / 2,
					 .height = 1};
}

static CUDA_MEMCPY3D copy_params(struct play *p, const struct built *b)
{
	return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = p->buffer[b->deed.copies_set ? b->set : b->from],
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = p->buffer[b->copy],
			       .WidthInBytes = WORDS * 4,
			       .Height = 1,
			       .Depth = 1};
}

static void build(struct play *p, struct built *b)
{
	struct deed *d = &b->deed;
	void *args[] = {&p->buffer[b->to], &p->buffer[b->from], &d->salt, &spin, &seen};
	void *inner[] = {&p->buffer[b->to], &p->buffer[b->copy], &d->inner_salt, &spin, &seen};
	CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(b, args);
	CUDA_KERNEL_NODE_PARAMS inner_kernel = kernel_params(b, inner);
	CUDA_MEMSET_NODE_PARAMS set = set_params(p, b);
	CUDA_MEMCPY3D copy = copy_params(p, b);
	CUgraphNode *n = b->node;
	size_t one = 1;
	CUgraph child;

	PROG_CHECK(cuGraphCreate(&b->inside, 0));
	PROG_CHECK(cuGraphAddKernelNode_v2(&b->model, b->inside, NULL, 0, &inner_kernel));
	PROG_CHECK(cuGraphCreate(&b->graph, 0));
	PROG_CHECK(cuGraphAddKernelNode_v2(&n[KERNEL], b->graph, NULL, 0, &kernel));
	PROG_CHECK(cuGraphAddMemsetNode(&n[SET], b->graph, NULL, 0, &set, context));
	PROG_CHECK(cuGraphAddMemcpyNode(&n[COPY], b->graph, n, 2, &copy, context));
	PROG_CHECK(cuGraphAddChildGraphNode(&n[INSIDE], b->graph, &n[COPY], 1, b->inside));
	PROG_CHECK(cuGraphChildGraphNodeGetGraph(n[INSIDE], &child));
	PROG_CHECK(cuGraphGetNodes(child, &b->inner, &one));
	PROG_CHECK(cuGraphInstantiateWithFlags(&b->exec, b->graph, 0));
}

static void begin_built(struct play *p, struct built *b)
{
	*b = (struct built){.by_kernel = draw(p, 2), .to = draw(p, BUFFERS)};
	b->from = (b->to + 1) % BUFFERS;
	b->set = (b->to + 2) % BUFFERS;
	b->copy = (b->to + 3) % BUFFERS;
	b->deed = (struct deed){draw(p, UINT32_MAX), draw(p, UINT32_MAX), draw(p, UINT32_MAX),
				draw(p, 2)};
	b->first = b->deed;
	build(p, b);
}

static void end_built(struct built *b)
{
	PROG_CHECK(cuGraphExecDestroy(b->exec));
	PROG_CHECK(cuGraphDestroy(b->graph));
	PROG_CHECK(cuGraphDestroy(b->inside));
	b->exec = NULL;
}

static void change_kernel(struct play *p, struct built *b)
{
	void *args[] = {&p->buffer[b->to], &p->buffer[b->from], &b->deed.salt, &spin, &seen};
	CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(b, args);

	CUgraphNodeParams any = {.type = CU_GRAPH_NODE_TYPE_KERNEL};

	b->deed.salt = draw(p, UINT32_MAX);
	any.kernel = kernel;
	if (draw(p, 2))
		PROG_CHECK(cuGraphExecNodeSetParams(b->exec, b->node[KERNEL], &any));
	else if (b->by_kernel || draw(p, 2))
		PROG_CHECK(cuGraphExecKernelNodeSetParams_v2(b->exec, b->node[KERNEL], &kernel));
	else
		PROG_CHECK(cuGraphExecKernelNodeSetParams(b->exec, b->node[KERNEL], &kernel));
}

static void change_set(struct play *p, struct built *b)
{
	CUDA_MEMSET_NODE_PARAMS set;

	b->deed.value = draw(p, UINT32_MAX);
	set = set_params(p, b);
	PROG_CHECK(cuGraphExecMemsetNodeSetParams(b->exec, b->node[SET], &set, context));
}

static void change_copy(struct play *p, struct built *b)
{
	CUDA_MEMCPY3D copy;

	b->deed.copies_set = !b->deed.copies_set;
	copy = copy_params(p, b);
	PROG_CHECK(cuGraphExecMemcpyNodeSetParams(b->exec, b->node[COPY], &copy, context));
}

/* The node of the graph inside, or that graph as a whole. */
static void change_inside(struct play *p, struct built *b)
{
	void *args[] = {&p->buffer[b->to], &p->buffer[b->copy], &b->deed.inner_salt, &spin, &seen};
	CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(b, args);

	b->deed.inner_salt = draw(p, UINT32_MAX);
	if (draw(p, 2)) {
		PROG_CHECK(cuGraphExecKernelNodeSetParams_v2(b->exec, b->inner, &kernel));
		return;
	}
	PROG_CHECK(cuGraphKernelNodeSetParams_v2(b->model, &kernel));
	PROG_CHECK(cuGraphExecChildGraphNodeSetParams(b->exec, b->node[INSIDE], b->inside));
}

static void change_off(struct play *p, struct built *b)
{
	unsigned i = draw(p, INSIDE);

	b->off[i] = !b->off[i];
	PROG_CHECK(cuGraphNodeSetEnabled(b->exec, b->node[i], !b->off[i]));
}

/* As the graph says again; what is off stays so. */
static void change_all(struct play *p, struct built *b)
{
	CUgraphExecUpdateResultInfo info;
	CUgraphExecUpdateResult result;

	b->deed = b->first;
	if (draw(p, 2))
		PROG_CHECK(cuGraphExecUpdate_v2(b->exec, b->graph, &info));
	else
		PROG_CHECK(cuGraphExecUpdate(b->exec, b->graph, NULL, &result));
}

static void mirror_built(struct play *p, const struct built *b)
{
	const struct deed *d = &b->deed;

	if (!b->off[KERNEL])
		mirror_churn(p, b->to, b->from, d->salt);
	if (!b->off[SET])
		mirror_set(p, b->set, d->value);
	if (!b->off[COPY])
		memcpy(p->mirror[b->copy], p->mirror[d->copies_set ? b->set : b->from], WORDS * 4);
	mirror_churn(p, b->to, b->copy, d->inner_salt);
}

static void do_built(struct play *p, unsigned s)
{
	static void (*const changes[])(struct play *, struct built *) = {
		change_kernel, change_set, change_copy, change_inside, change_off, change_all};
	struct built *b = &p->built[draw(p, GRAPHS)];
	unsigned n;

	if (b->exec && draw(p, 60) == 0)
		end_built(b);
	if (!b->exec)
		begin_built(p, b);
	for (n = draw(p, 4); n; n--)
		changes[draw(p, COT_ARRAY_LEN(changes))](p, b);
	use(p, b->to, s);
	use(p, b->from, s);
	use(p, b->set, s);
	use(p, b->copy, s);
	PROG_CHECK(cuGraphLaunch(b->exec, streams[s]));
	mirror_built(p, b);
}

#endif
