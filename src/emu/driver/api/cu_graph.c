/* The entry points that build graphs and ask about them. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph.h"
#include "emu/driver/inside.h"

CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = calloc(1, sizeof(**graph));
	return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuGraphDestroy(CUgraph graph)
{
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	cot_emu_graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *clone, CUgraph graph)
{
	if (!clone || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_graph_clone(graph, clone);
}

CUresult cuGraphNodeFindInClone(CUgraphNode *ret, CUgraphNode node, CUgraph clone)
{
	size_t i;

	if (!ret || !node || !clone)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < clone->nodes.n; i++)
		if (clone->nodes.items[i]->origin == node) {
			*ret = clone->nodes.items[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

/* ---- adding nodes ---- */

static CUresult add(CUgraphNode *node, CUgraph graph, const CUgraphNode *needs, size_t n,
		    struct cot_emu_task *task, CUresult result)
{
	if (result)
		return result;
	if (!node || !graph || (n && !needs)) {
		cot_emu_task_drop(task);
		return CUDA_ERROR_INVALID_VALUE;
	}
	return cot_emu_graph_add(graph, needs, n, task, node);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				 size_t n, const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct cot_emu_task task;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	return add(node, graph, dependencies, n, &task, cot_emu_kernel_task(params, NULL, &task));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			      size_t n, const CUDA_MEMCPY3D *params, CUcontext ctx)
{
	struct cot_emu_task task;

	(void)ctx;
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	return add(node, graph, dependencies, n, &task, cot_emu_task_copy(params, &task));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			      size_t n, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
	struct cot_emu_task task;

	(void)ctx;
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	return add(node, graph, dependencies, n, &task, cot_emu_task_fill(params, &task));
}

static CUresult add_params(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			   size_t n, const CUgraphNodeParams *params)
{
	struct cot_emu_task task;

	return add(node, graph, dependencies, n, &task, cot_emu_params_task(params, NULL, &task));
}

CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			    size_t n, const CUDA_HOST_NODE_PARAMS *params)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_HOST};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	p.host = *params;
	return add_params(node, graph, dependencies, n, &p);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			     size_t n)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EMPTY};

	return add_params(node, graph, dependencies, n, &p);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
				   const CUgraphNode *dependencies, size_t n, CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};

	p.event = event;
	return add_params(node, graph, dependencies, n, &p);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				 size_t n, CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};

	p.event = event;
	return add_params(node, graph, dependencies, n, &p);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
				  size_t n, CUgraph child)
{
	struct CUgraph_st *copy;
	CUresult result;

	if (!child || !node)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_graph_clone(child, &copy);
	if (!result)
		result = cuGraphAddEmptyNode(node, graph, dependencies, n);
	else
		return result;
	if (result)
		cot_emu_graph_free(copy);
	else
		(*node)->child = copy;
	return result;
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
			   const CUgraphEdgeData *edges, size_t n, CUgraphNodeParams *params)
{
	(void)edges; /* a dependency on a part of a kernel is one on the whole here */
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return cuGraphAddChildGraphNode(node, graph, dependencies, n, params->graph);
	return add_params(node, graph, dependencies, n, params);
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies, size_t n,
			CUgraphNodeParams *params)
{
	return cuGraphAddNode_v2(node, graph, dependencies, NULL, n, params);
}

CUresult cuGraphDestroyNode(CUgraphNode node)
{
	struct CUgraph_st *graph, only = {.last_id = 0};
	struct CUgraph_st *husk;
	size_t i;

	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	graph = node->graph;
	cot_emu_nodes_remove(&graph->nodes, node);
	for (i = 0; i < graph->nodes.n; i++)
		cot_emu_nodes_remove(&graph->nodes.items[i]->needs, node);
	/* A graph of its own, which is then freed. */
	husk = malloc(sizeof(*husk));
	if (!husk)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*husk = only;
	if (!cot_emu_nodes_add(&husk->nodes, node))
		node->graph = husk;
	cot_emu_graph_free(husk);
	return CUDA_SUCCESS;
}

/* ---- edges ---- */

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				size_t n)
{
	CUresult result = CUDA_SUCCESS;
	size_t i;

	if (!graph || (n && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; !result && i < n; i++) {
		if (!from[i] || !to[i] || from[i]->graph != graph || to[i]->graph != graph ||
		    from[i] == to[i] || cot_emu_nodes_have(&to[i]->needs, from[i]))
			return CUDA_ERROR_INVALID_VALUE;
		result = cot_emu_nodes_add(&to[i]->needs, from[i]);
	}
	return result;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   const CUgraphEdgeData *edges, size_t n)
{
	(void)edges;
	return cuGraphAddDependencies(graph, from, to, n);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   size_t n)
{
	size_t i;

	if (!graph || (n && (!from || !to)))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < n; i++) {
		if (!to[i] || !cot_emu_nodes_have(&to[i]->needs, from[i]))
			return CUDA_ERROR_INVALID_VALUE;
		cot_emu_nodes_remove(&to[i]->needs, from[i]);
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				      const CUgraphEdgeData *edges, size_t n)
{
	(void)edges;
	return cuGraphRemoveDependencies(graph, from, to, n);
}

/* ---- asking: with no array, how many there are; else as many as fit, and zeros ---- */

struct answer {
	CUgraphNode *nodes, *others;
	size_t room, n;
};

static void say(struct answer *a, CUgraphNode node, CUgraphNode other)
{
	if (a->n < a->room) {
		a->nodes[a->n] = node;
		if (a->others)
			a->others[a->n] = other;
	}
	a->n++;
}

static void finish(struct answer *a, size_t *n)
{
	size_t i;

	for (i = a->n; i < a->room; i++) {
		a->nodes[i] = NULL;
		if (a->others)
			a->others[i] = NULL;
	}
	*n = a->room && a->n > a->room ? a->room : a->n;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	struct answer a = {.nodes = nodes};
	size_t i;

	if (!graph || !n)
		return CUDA_ERROR_INVALID_VALUE;
	a.room = nodes ? *n : 0;
	for (i = 0; i < graph->nodes.n; i++)
		say(&a, graph->nodes.items[i], NULL);
	finish(&a, n);
	return CUDA_SUCCESS;
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	struct answer a = {.nodes = nodes};
	size_t i;

	if (!graph || !n)
		return CUDA_ERROR_INVALID_VALUE;
	a.room = nodes ? *n : 0;
	for (i = 0; i < graph->nodes.n; i++)
		if (!graph->nodes.items[i]->needs.n)
			say(&a, graph->nodes.items[i], NULL);
	finish(&a, n);
	return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	struct answer a = {.nodes = from, .others = to};
	const struct cot_emu_nodes *needs;
	size_t i, k;

	if (!graph || !n || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	a.room = from ? *n : 0;
	for (i = 0; i < graph->nodes.n; i++) {
		needs = &graph->nodes.items[i]->needs;
		for (k = 0; k < needs->n; k++)
			say(&a, needs->items[k], graph->nodes.items[i]);
	}
	finish(&a, n);
	return CUDA_SUCCESS;
}

static void clear_edges(CUgraphEdgeData *edges, const void *asked, const size_t *n)
{
	if (edges && asked)
		memset(edges, 0, *n * sizeof(*edges));
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
			    CUgraphEdgeData *edges, size_t *n)
{
	CUresult result = cuGraphGetEdges(graph, from, to, n);

	if (!result)
		clear_edges(edges, from, n);
	return result;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *n)
{
	struct answer a = {.nodes = nodes};
	size_t i;

	if (!node || !n)
		return CUDA_ERROR_INVALID_VALUE;
	a.room = nodes ? *n : 0;
	for (i = 0; i < node->needs.n; i++)
		say(&a, node->needs.items[i], NULL);
	finish(&a, n);
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *edges,
				       size_t *n)
{
	CUresult result = cuGraphNodeGetDependencies(node, nodes, n);

	if (!result)
		clear_edges(edges, nodes, n);
	return result;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *n)
{
	struct answer a = {.nodes = nodes};
	const struct cot_emu_nodes *all;
	size_t i;

	if (!node || !n)
		return CUDA_ERROR_INVALID_VALUE;
	a.room = nodes ? *n : 0;
	all = &node->graph->nodes;
	for (i = 0; i < all->n; i++)
		if (cot_emu_nodes_have(&all->items[i]->needs, node))
			say(&a, all->items[i], NULL);
	finish(&a, n);
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
					 CUgraphEdgeData *edges, size_t *n)
{
	CUresult result = cuGraphNodeGetDependentNodes(node, nodes, n);

	if (!result)
		clear_edges(edges, nodes, n);
	return result;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	if (!node || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = cot_emu_node_type(node);
	return CUDA_SUCCESS;
}
