/*
 * The nodes of a graph: put on a part, found again in a clone, given what others have.
 *
 * A kernel's node names a context in two ways (measured on an H200): for a function it is the one
 * that is current when its parameters are set, for a kernel of a library the one in them.
 */
#include <stdlib.h>

#include "guest/shim/parts.h"

#define MAX_DEPTH 8u /* of graphs in graphs */

/* malloc'ed; NULL: they are not to be had. */
static CUgraphNode *nodes_of(CUgraph graph, size_t *ret_n)
{
	CUgraphNode *nodes;
	size_t n = 0;

	if (COT_REAL(cuGraphGetNodes)(graph, NULL, &n))
		return NULL;
	nodes = calloc(n + 1, sizeof(CUgraphNode));
	if (!nodes || (n && COT_REAL(cuGraphGetNodes)(graph, nodes, &n))) {
		free(nodes);
		return NULL;
	}
	*ret_n = n;
	return nodes;
}

static CUgraph child_of(CUgraphNode node)
{
	CUgraphNodeType type;
	CUgraph child = NULL;

	if (COT_REAL(cuGraphNodeGetType)(node, &type) || type != CU_GRAPH_NODE_TYPE_GRAPH ||
	    COT_REAL(cuGraphChildGraphNodeGetGraph)(node, &child))
		return NULL;
	return child;
}

/* ---- to a part ---- */

static bool set_kernel(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params, CUcontext context)
{
	CUcontext before = NULL;
	bool set;

	if (params->kern)
		params->func = NULL;
	params->ctx = context;
	if (COT_REAL(cuCtxPushCurrent_v2)(context))
		return false;
	set = !COT_REAL(cuGraphKernelNodeSetParams_v2)(node, params);
	(void)COT_REAL(cuCtxPopCurrent_v2)(&before);
	return set;
}

static bool place_kernel(CUgraphNode node, CUcontext context)
{
	CUDA_KERNEL_NODE_PARAMS params = {0};
	enum cot_shim_why why;

	if (COT_REAL(cuGraphKernelNodeGetParams_v2)(node, &params))
		return false;
	if (params.func && cot_shim_stays(params.func, &why))
		return false;
	return set_kernel(node, &params, context) &&
	       !COT_REAL(cuGraphKernelNodeGetParams_v2)(node, &params) && params.ctx == context;
}

static bool place_graph(CUgraph graph, CUcontext context, unsigned depth);

static bool place_node(CUgraphNode node, CUcontext context, unsigned depth)
{
	CUgraphNodeType type;
	CUgraph child;

	if (COT_REAL(cuGraphNodeGetType)(node, &type))
		return false;
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return place_kernel(node, context);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		child = child_of(node);
		return child && place_graph(child, context, depth + 1);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
	case CU_GRAPH_NODE_TYPE_HOST:
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return true;
	default:
		return false; /* of its own memory, conditional, or not known */
	}
}

static bool place_graph(CUgraph graph, CUcontext context, unsigned depth)
{
	size_t n = 0, i;
	CUgraphNode *nodes = depth > MAX_DEPTH ? NULL : nodes_of(graph, &n);
	bool placed = nodes;

	for (i = 0; i < n && placed; i++)
		placed = place_node(nodes[i], context, depth);
	free(nodes);
	return placed;
}

bool cot_shim_node_place(CUgraphNode node, CUcontext context)
{
	return place_node(node, context, 0);
}

bool cot_shim_nodes_place(CUgraph graph, CUcontext context)
{
	return place_graph(graph, context, 0);
}

/* ---- waits ---- */

static bool nodes_wait(CUgraph graph, unsigned depth);

static bool node_waits(CUgraphNode node, unsigned depth)
{
	CUgraphNodeType type;
	CUgraph child;

	if (COT_REAL(cuGraphNodeGetType)(node, &type))
		return true;
	child = type == CU_GRAPH_NODE_TYPE_GRAPH ? child_of(node) : NULL;
	return type == CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT ||
	       type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP || (child && nodes_wait(child, depth + 1));
}

static bool nodes_wait(CUgraph graph, unsigned depth)
{
	size_t n = 0, i;
	CUgraphNode *nodes = depth > MAX_DEPTH ? NULL : nodes_of(graph, &n);
	bool waits = !nodes;

	for (i = 0; i < n && !waits; i++)
		waits = node_waits(nodes[i], depth);
	free(nodes);
	return waits;
}

bool cot_shim_nodes_wait(CUgraph graph)
{
	return nodes_wait(graph, 0);
}

/* ---- the same node in a clone ---- */

/* The driver finds nodes of the graph itself, not those of graphs in it. */
static CUgraphNode find(CUgraph clone, CUgraphNode node, unsigned depth)
{
	CUgraphNode found = NULL, *nodes;
	CUgraph child;
	size_t n = 0, i;

	if (!COT_REAL(cuGraphNodeFindInClone)(&found, node, clone))
		return found;
	found = NULL;
	nodes = depth < MAX_DEPTH ? nodes_of(clone, &n) : NULL;
	for (i = 0; i < n && !found; i++) {
		child = child_of(nodes[i]);
		if (child)
			found = find(child, node, depth + 1);
	}
	free(nodes);
	return found;
}

CUgraphNode cot_shim_nodes_find(CUgraph clone, CUgraphNode node)
{
	return find(clone, node, 0);
}

/* ---- what another node does ---- */

static bool copy_kernel(CUgraphNode to, CUgraphNode from)
{
	CUDA_KERNEL_NODE_PARAMS params = {0};

	return !COT_REAL(cuGraphKernelNodeGetParams_v2)(from, &params) &&
	       set_kernel(to, &params, params.ctx) &&
	       !COT_REAL(cuGraphKernelNodeCopyAttributes)(to, from);
}

static bool copy_graph(CUgraph to, CUgraph from, unsigned depth);

static bool copy_node(CUgraphNode to, CUgraphNode from, unsigned depth)
{
	CUDA_MEMCPY3D copy;
	CUDA_MEMSET_NODE_PARAMS set;
	CUDA_HOST_NODE_PARAMS host;
	CUgraphNodeType type, same;
	CUgraph to_child, from_child;
	CUevent event;

	if (COT_REAL(cuGraphNodeGetType)(to, &type) || COT_REAL(cuGraphNodeGetType)(from, &same) ||
	    type != same)
		return false;
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return copy_kernel(to, from);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		to_child = child_of(to);
		from_child = child_of(from);
		return to_child && from_child && copy_graph(to_child, from_child, depth + 1);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return !COT_REAL(cuGraphMemcpyNodeGetParams)(from, &copy) &&
		       !COT_REAL(cuGraphMemcpyNodeSetParams)(to, &copy);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return !COT_REAL(cuGraphMemsetNodeGetParams)(from, &set) &&
		       !COT_REAL(cuGraphMemsetNodeSetParams)(to, &set);
	case CU_GRAPH_NODE_TYPE_HOST:
		return !COT_REAL(cuGraphHostNodeGetParams)(from, &host) &&
		       !COT_REAL(cuGraphHostNodeSetParams)(to, &host);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return !COT_REAL(cuGraphEventWaitNodeGetEvent)(from, &event) &&
		       !COT_REAL(cuGraphEventWaitNodeSetEvent)(to, event);
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return !COT_REAL(cuGraphEventRecordNodeGetEvent)(from, &event) &&
		       !COT_REAL(cuGraphEventRecordNodeSetEvent)(to, event);
	default:
		return type == CU_GRAPH_NODE_TYPE_EMPTY;
	}
}

/* Their nodes are the same ones in the same order: the driver has taken one for the other. */
static bool copy_graph(CUgraph to, CUgraph from, unsigned depth)
{
	size_t n_to = 0, n_from = 0, i;
	CUgraphNode *a = depth > MAX_DEPTH ? NULL : nodes_of(to, &n_to),
		    *b = nodes_of(from, &n_from);
	bool copied = a && b && n_to == n_from;

	for (i = 0; copied && i < n_to; i++)
		copied = copy_node(a[i], b[i], depth);
	free(a);
	free(b);
	return copied;
}

bool cot_shim_node_set_child(CUgraphNode node, CUgraph graph)
{
	CUgraph child = child_of(node);

	return child && copy_graph(child, graph, 0);
}
