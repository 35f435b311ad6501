#include "emu/mps/client.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "emu/mps/wire.h"

#define ANSWER_MS (20 * 1000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int server = -1; /* under lock */

static CUresult result_of(int err)
{
	if (!err)
		return CUDA_SUCCESS;
	return err == -ETIMEDOUT ? CUDA_ERROR_MPS_SERVER_NOT_READY : CUDA_ERROR_MPS_RPC_FAILURE;
}

static CUresult ask(int sock, const struct cot_emu_mps_message *question,
		    enum cot_emu_mps_type type, int timeout_ms,
		    struct cot_emu_mps_message *ret_answer)
{
	int err = cot_emu_mps_send(sock, question, -1);

	if (!err)
		err = cot_emu_mps_receive(sock, ret_answer, NULL, timeout_ms);
	if (!err && ret_answer->type != type)
		err = -EBADMSG;
	return err ? result_of(err) : (CUresult)ret_answer->status;
}

CUresult cot_emu_mps_probe(bool *ret_under_mps)
{
	struct cot_emu_mps_message hello = cot_emu_mps_message(COT_EMU_MPS_HELLO), answer;
	CUresult result;
	int sock;

	*ret_under_mps = false;
	sock = cot_emu_mps_connect_control();
	if (sock == -ENOENT || sock == -ECONNREFUSED || sock == -ENOTDIR)
		return CUDA_SUCCESS;
	if (sock < 0)
		return CUDA_ERROR_MPS_CONNECTION_FAILED;
	hello.pid = getpid();
	/* While the server has clients of another user, it waits without a bound. */
	result = ask(sock, &hello, COT_EMU_MPS_WELCOME, -1, &answer);
	if (result) {
		close(sock);
		return result;
	}
	pthread_mutex_lock(&lock);
	server = sock;
	pthread_mutex_unlock(&lock);
	*ret_under_mps = true;
	return CUDA_SUCCESS;
}

CUresult cot_emu_mps_join(int gpu, uint32_t wanted, int *ret_slot,
			  uint32_t ret_tokens[COT_EMU_MPS_MAX_CLIENTS], uint32_t *ret_n_tokens)
{
	struct cot_emu_mps_message open = cot_emu_mps_message(COT_EMU_MPS_OPEN), answer;
	CUresult result;
	uint32_t i;

	open.gpu = (uint32_t)gpu;
	open.n = wanted;
	pthread_mutex_lock(&lock);
	result = ask(server, &open, COT_EMU_MPS_OPENED, ANSWER_MS, &answer);
	pthread_mutex_unlock(&lock);
	if (result)
		return result;
	if (!answer.n || answer.n > COT_EMU_MPS_MAX_CLIENTS)
		return CUDA_ERROR_MPS_RPC_FAILURE;
	for (i = 0; i < answer.n; i++)
		ret_tokens[i] = answer.tokens[i];
	*ret_n_tokens = answer.n;
	*ret_slot = (int)answer.slot;
	return CUDA_SUCCESS;
}

void cot_emu_mps_leave(int slot)
{
	struct cot_emu_mps_message close_it = cot_emu_mps_message(COT_EMU_MPS_CLOSE);

	close_it.slot = (uint32_t)slot;
	pthread_mutex_lock(&lock);
	/* A server that has gone has closed everything already. */
	(void)!cot_emu_mps_send(server, &close_it, -1);
	pthread_mutex_unlock(&lock);
}
