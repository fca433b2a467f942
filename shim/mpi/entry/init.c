/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI_Init and MPI_Finalize: only there all ranks of the job are surely in the same place. So the
 * settings are agreed on after the first, and the report is gathered in the second.
 */
#include "shim/decide/base/floats.h"
#include "shim/helper/helpers.h"
#include "shim/mpi/api/freeing.h"
#include "shim/mpi/api/numbering.h"
#include "shim/mpi/api/progress.h"
#include "shim/mpi/api/wrappers.h"
#include "shim/mpi/comm/comm.h"
#include "shim/mpi/comm/stored.h"
#include "shim/mpi/entry/agree.h"
#include "shim/mpi/entry/launcher.h"
#include "shim/mpi/entry/report.h"
#include "shim/mpi/later/pending.h"
#include "shim/mpi/later/persistent.h"
#include "shim/mpi/rails/rail_rows.h"
#include "shim/mpi/run/threads.h"
#include "shim/mpi/run/variants.h"
#include "shim/record/counts/live.h"
#include "transports/base/host_memory.h"
#include "transports/cuda/cuda_memory.h"

enum { CLOSED, ARMED, OPEN }; /* ARMED: a delete callback of MPI_COMM_SELF will close */
static int state;

/* The part that needs no MPI. */
static void close_own(void)
{
    state = CLOSED;
    live_close();
    threads_close();
    helpers_dismiss();
    host_memory_keep(0);
    cuda_keep_last(0);
    mpi_process.verdict = REASON_NOT_SEEN;
}

static void close_all(void)
{
    pending_finish();
    persistent_close();
    if (mpi_process.verdict != REASON_NOT_SEEN)
        mpi_report();
    if (mpi_process.verdict == REASON_NONE) {
        stored_close();
        mpi_comm_close();
    }
    progress_close();
    variants_close();
    close_own();
}

static int on_end(MPI_Comm comm, int key, void *value, void *extra)
{
    FLOATS_OURS;
    (void)comm, (void)key, (void)value, (void)extra;
    close_all();
    return MPI_SUCCESS;
}

/*
 * MPI_Finalize deletes the attributes of MPI_COMM_SELF first, the newest one before the others, and
 * the program's delete callbacks may use MPI there. This one is the oldest. So nothing is closed
 * before the program's last call. Without it, all is closed before the library's MPI_Finalize.
 */
static void arm(void)
{
    int key;

    state = OPEN;
    if (mpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_end, &key, NULL) != MPI_SUCCESS)
        return;
    if (mpi.Comm_set_attr(MPI_COMM_SELF, key, &state) == MPI_SUCCESS)
        state = ARMED;
    mpi.Comm_free_keyval(&key); /* it lives as long as the attribute */
}

static int init_begin(void)
{
    FLOATS_OURS;
    mpi_process.cuda_aware = mpi_takes_device_memory();

    int rc = agree_at_init();

    host_memory_keep(settings.cfg.kept_bytes);
    live_rank(mpi_process.world_rank, mpi_process.world_size);
    mpi_rolled_open();
    rail_open();
    if (rc == MPI_SUCCESS)
        mpi_report_open();
    if (settings.cfg.mode != CFG_MODE_OFF) { /* else MPI_Finalize is not replaced (backend.c) */
        cuda_keep_last(1);
        arm();
    }
    return rc;
}

int mpi_wrap_Init(int *argc, char ***argv)
{
    launcher_announce();

    int rc = mpi.Init(argc, argv);

    return rc == MPI_SUCCESS ? init_begin() : rc;
}

int mpi_wrap_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    launcher_announce();

    int rc = mpi.Init_thread(argc, argv, required, provided);

    return rc == MPI_SUCCESS ? init_begin() : rc;
}

/* From MPI 4.0. The preload exports the name, so a library without it has no session to give. */
int mpi_wrap_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    launcher_pass_by();
    return mpi.Session_init ? mpi.Session_init(info, handler, session) : MPI_ERR_OTHER;
}

int mpi_wrap_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
    numbering_hold_off();
    return mpi.Comm_idup(comm, copy, request);
}

/* From MPI 4.0. The preload exports the name, so a library without it duplicates the communicator
   without the hints. */
int mpi_wrap_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *copy, MPI_Request *request)
{
    numbering_hold_off();
    return mpi.Comm_idup_with_info ? mpi.Comm_idup_with_info(comm, info, copy, request)
                                   : mpi.Comm_idup(comm, copy, request);
}

int mpi_wrap_Finalize(void)
{
    FLOATS_OURS;
    const char *frame = __builtin_frame_address(0);

    if (state == OPEN)
        close_all();
    pending_last();
    freeing_begin(MPI_COMM_SELF, frame);
    int rc = mpi.Finalize();
    freeing_end(frame);
    if (state == ARMED && rc == MPI_SUCCESS)
        close_own(); /* a callback of the program failed, and the library has left out the rest */
    return rc;
}
