/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "shim/record/sites/walk.h"

#ifdef COLLSHIM_LIBUNWIND
#include <dlfcn.h>
#include <string.h>
#include <ucontext.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

enum { PASSED = 24 };

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

static struct {
    int (*init_local)(unw_cursor_t *, unw_context_t *);
    int (*step)(unw_cursor_t *);
    int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
    int (*get_save_loc)(unw_cursor_t *, int, unw_save_loc_t *);
} unwind; /* get_save_loc NULL: not opened */

void walk_open(void)
{
    struct walk_frame frame;
    void *library = unwind.get_save_loc ? NULL : dlopen("libunwind.so.8", RTLD_LOCAL | RTLD_LAZY);

    if (!library)
        return;
    void *init = dlsym(library, TEXT(UNW_OBJ(init_local)));
    void *step = dlsym(library, TEXT(UNW_OBJ(step)));
    void *reg = dlsym(library, TEXT(UNW_OBJ(get_reg)));
    void *save = dlsym(library, TEXT(UNW_OBJ(get_save_loc)));

    if (!init || !step || !reg || !save) {
        dlclose(library);
        return;
    }
    memcpy(&unwind.init_local, &init, sizeof init);
    memcpy(&unwind.step, &step, sizeof step);
    memcpy(&unwind.get_reg, &reg, sizeof reg);
    memcpy(&unwind.get_save_loc, &save, sizeof save);
    walk_frames(0, 0, &frame, 1); /* its first walk takes a millisecond */
}

static int read_frame(unw_cursor_t *c, struct walk_frame *f)
{
    unw_word_t ip, sp;
    unw_save_loc_t at;

    if (unwind.get_reg(c, UNW_REG_IP, &ip) < 0 || unwind.get_reg(c, UNW_REG_SP, &sp) < 0 || !ip)
        return -1;
    *f = (struct walk_frame){.ip = ip, .cfa = sp};
    if (unwind.get_save_loc(c, UNW_REG_IP, &at) == 0 && at.type == UNW_SLT_MEMORY)
        f->ip_at = at.u.addr;
    return 0;
}

int walk_frames(uintptr_t ip, uintptr_t cfa, struct walk_frame *frame, int most)
{
    unw_cursor_t cursor;
    unw_context_t context;
    struct walk_frame f;
    int n = 0;

    if (!unwind.get_save_loc || getcontext(&context) || unwind.init_local(&cursor, &context) < 0)
        return 0;
    for (int passed = 0; n < most && passed < PASSED + most; passed++) {
        if (unwind.step(&cursor) <= 0 || read_frame(&cursor, &f) < 0)
            break;
        if (n || (f.ip == ip && f.cfa == cfa))
            frame[n++] = f;
    }
    return n;
}
#else
void walk_open(void)
{
}

int walk_frames(uintptr_t ip, uintptr_t cfa, struct walk_frame *frame, int most)
{
    (void)ip, (void)cfa, (void)frame, (void)most;
    return 0;
}
#endif
