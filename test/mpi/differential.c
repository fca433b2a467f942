/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random Allgather and Allgatherv calls: differential [SEED [CALLS [alike]]]
 *
 * By MPI's rules each rank may describe its data by a type of its own, if the signatures are
 * equal. The libraries themselves get that wrong (Open MPI 4.1.4 chooses Allgatherv's algorithm
 * by the size of the send type's elements, and hangs; MPICH 4.0.2 truncates derived types on
 * intercommunicators). So with `alike`, for runs in which the library serves calls, all ranks have
 * one type, and on intercommunicators all types are predefined.
 *
 * Everything about a call follows from the seed and the call's number, so a rank that is not
 * in the call's communicator just skips it, and a failing call can be repeated alone. Sizes
 * come from a small set of shapes, so that plans are both reused and pushed out of the cache.
 */
#include "test/mpi/image.h"

enum { SHAPES = 40, MOST_RANKS = 64, MOST_MEMBERS = 3 };

enum place {
    WORLD,
    DUPLICATE,
    PARITY,
    REVERSED,
    RANDOM,
    RECREATED,
    CARTESIAN,
    SELF,
    INTER,
    PLACES
};

static const char *const place_names[PLACES] = {"world",     "a duplicate",    "one of a parity",
                                                "reversed",  "random members", "just made",
                                                "cartesian", "self",           "two groups"};
static MPI_Comm place_comm[PLACES];
static int all_alike;

/* Values that are equal on all ranks of a call. units[side][rank]: how often each sends the
   signature. */
struct shape {
    enum kind member[MOST_MEMBERS];
    int nmembers, vector;
    int common; /* divides all units: types may be so long */
    int units[2][MOST_RANKS];
};

struct call {
    uint64_t number;
    enum place place;
    struct shape shape;
    int in_place;
    struct draw own;         /* this rank's choices */
    struct draw shared_type; /* the type of all, where they are alike */
    MPI_Comm comm;
    int rank, inter, side;
    int nsenders;     /* blocks to receive */
    const int *units; /* [nsenders] of the senders */
    int my_units;
};

static int draw_units(struct draw *d, int kind_of_shape, int most)
{
    switch (kind_of_shape) {
    case 0:
        return 7 + draw_below(d, 2);
    case 1:
        return draw_below(d, 4) ? 0 : draw_below(d, most);
    case 2:
        return draw_below(d, 8) ? draw_below(d, 3) : most;
    default:
        return draw_below(d, most);
    }
}

static struct shape draw_shape(uint64_t id)
{
    struct draw d = draw_from(1, id);
    struct shape s = {.nmembers = 1 + draw_below(&d, 4) % MOST_MEMBERS,
                      .vector = draw_below(&d, 2),
                      .common = 1 + draw_below(&d, 3)};
    int kind_of_shape = draw_below(&d, 4), most = draw_below(&d, 8) ? 60 : 1200;

    for (int i = 0; i < s.nmembers; i++)
        s.member[i] = (enum kind)draw_below(&d, KINDS);
    if (s.nmembers == 2 && draw_below(&d, 2))
        s.member[1] = KIND_INT; /* a predefined pair, perhaps */
    for (int side = 0; side < 2; side++) {
        int equal = s.common * (draw_below(&d, 6) ? draw_below(&d, most) : 0);
        for (int r = 0; r < MOST_RANKS; r++)
            s.units[side][r] = s.vector ? s.common * draw_units(&d, kind_of_shape, most) : equal;
    }
    return s;
}

/* Some members of the world in some order; the same on all ranks. */
static MPI_Comm random_comm(uint64_t id)
{
    struct draw d = draw_from(2, id);
    int key = draw_below(&d, world_size), colour = MPI_UNDEFINED;
    MPI_Comm comm;

    for (int r = 0; r < world_size; r++) {
        int in = draw_below(&d, 3);
        if (r == world_rank)
            colour = in ? 0 : MPI_UNDEFINED;
    }
    MPI_Comm_split(MPI_COMM_WORLD, colour, (world_rank + key) % world_size, &comm);
    return comm;
}

static void make_places(void)
{
    int ndims = world_size % 2 ? 1 : 2, dims[2] = {0, 0}, periods[2] = {1, 0};

    for (int p = 0; p < PLACES; p++)
        place_comm[p] = MPI_COMM_NULL;
    place_comm[WORLD] = MPI_COMM_WORLD;
    place_comm[SELF] = MPI_COMM_SELF;
    MPI_Comm_dup(MPI_COMM_WORLD, &place_comm[DUPLICATE]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, 0, &place_comm[PARITY]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &place_comm[REVERSED]);
    place_comm[RANDOM] = random_comm(1000000);
    MPI_Dims_create(world_size, ndims, dims);
    MPI_Cart_create(MPI_COMM_WORLD, ndims, dims, periods, 0, &place_comm[CARTESIAN]);
    if (world_size > 1)
        place_comm[INTER] = between_halves();
}

static void free_places(void)
{
    for (int p = 0; p < PLACES; p++)
        if (p != WORLD && p != SELF && place_comm[p] != MPI_COMM_NULL)
            MPI_Comm_free(&place_comm[p]);
}

/* Fill in what this rank sees of the call. Returns 0 if it is not in the communicator. */
static int call_begin(struct call *c, uint64_t number)
{
    struct draw d = draw_from(3, number);

    memset(c, 0, sizeof *c);
    c->number = number;
    c->place = (enum place)draw_below(&d, PLACES);
    c->shape = draw_shape((uint64_t)draw_below(&d, SHAPES));
    c->in_place = draw_below(&d, 4) == 0;
    c->own = draw_from(number + 10, (uint64_t)world_rank);
    c->shared_type = d;
    c->comm = place_comm[c->place];
    if (c->comm == MPI_COMM_NULL)
        return 0;
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_test_inter(c->comm, &c->inter);
    if (c->inter) {
        c->side = world_rank >= (world_size + 1) / 2;
        MPI_Comm_remote_size(c->comm, &c->nsenders);
        c->in_place = 0;
    } else {
        MPI_Comm_size(c->comm, &c->nsenders);
    }
    c->units = c->shape.units[c->inter ? !c->side : 0];
    c->my_units = c->shape.units[c->side][c->rank];
    return 1;
}

/* A type for `units` signatures, of one signature or of `common`. */
static struct typemap draw_type(struct call *c, int *per_element)
{
    struct draw again = c->shared_type, *d = all_alike ? &again : &c->own;

    if (c->inter) {
        *per_element = 1;
        return typemap_kind(c->shape.member[0]);
    }
    *per_element = draw_below(d, 2) ? c->shape.common : 1;
    return typemap_draw(d, c->shape.member, c->shape.nmembers, *per_element);
}

/* Where the blocks go, in extents: in any order, now and then with gaps. */
static void draw_displs(struct call *c, const int *count, int *displs)
{
    int order[MOST_RANKS], next = draw_below(&c->own, 3), gap = draw_below(&c->own, 2);

    shuffle(&c->own, order, c->nsenders);
    if (draw_below(&c->own, 3) == 0) /* as most programs do: in order, without gaps */
        for (int i = gap = next = 0; i < c->nsenders; i++)
            order[i] = i;
    if (c->nsenders == 1) /* MPICH 4.0.2 itself takes no notice of a single displacement */
        next = 0;
    for (int i = 0; i < c->nsenders; i++) {
        displs[order[i]] = next;
        next += count[order[i]] + gap * draw_below(&c->own, 3);
    }
}

/* The same type at an absolute address, for MPI_BOTTOM. */
static MPI_Datatype at_address(const struct typemap *t, const void *buffer)
{
    MPI_Datatype type;
    MPI_Aint address;
    int one = 1;

    MPI_Get_address(buffer, &address);
    MPI_Type_create_hindexed(1, &one, &address, t->type, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Ready to be passed to MPI: a buffer and the type of its elements. */
struct passed {
    void *buffer;
    MPI_Datatype type;
    int absolute;
};

static struct passed pass(struct call *c, const struct image *m, const struct typemap *t)
{
    struct passed p = {image_buffer(m), t->type, !c->inter && draw_below(&c->own, 8) == 0};

    if (p.absolute) {
        p.type = at_address(t, p.buffer);
        p.buffer = MPI_BOTTOM;
    }
    return p;
}

static void pass_ended(struct passed *p)
{
    if (p->absolute)
        MPI_Type_free(&p->type);
}

static int call_mpi(const struct call *c, const struct passed *in, int send_count,
                    const struct passed *out, const int *count, const int *displs)
{
    const void *send = c->in_place ? MPI_IN_PLACE : in->buffer;

    if (c->shape.vector)
        return MPI_Allgatherv(send, send_count, in->type, out->buffer, count, displs, out->type,
                              c->comm);
    return MPI_Allgather(send, send_count, in->type, out->buffer, count[0], out->type, c->comm);
}

/* Count the call if it moves anything between ranks of an intracommunicator. */
static void expect_rerouted(const struct call *c)
{
    int moves = 0;

    for (int i = 0; i < c->nsenders; i++)
        moves |= c->units[i] > 0;
    if (!moves || c->inter || c->nsenders < 2)
        return;
    if (c->shape.vector)
        expected_allgatherv++;
    else
        expected_allgather++;
}

static void check(const struct call *c, const char *what, const struct image *got,
                  const struct image *want)
{
    int differs;
    MPI_Aint at = image_differs(got, want, &differs);

    if (differs)
        fail("seed %llu call %llu (%s%s, %s, %d members of %d kinds): %s wrong at byte %ld: %02x, "
             "expected %02x",
             (unsigned long long)test_seed, (unsigned long long)c->number,
             c->shape.vector ? "allgatherv" : "allgather", c->in_place ? " in place" : "",
             place_names[c->place], c->nsenders, c->shape.nmembers, what, (long)at,
             got->byte[at - got->low], want->byte[at - want->low]);
}

static void call_run(struct call *c)
{
    int per_send, per_receive, count[MOST_RANKS], displs[MOST_RANKS];
    struct typemap in = draw_type(c, &per_send), out = draw_type(c, &per_receive);
    int send_count = c->my_units / per_send;
    struct bounds in_bounds = {0, 1}, out_bounds = {0, 1};

    for (int i = 0; i < c->nsenders; i++) {
        count[i] = c->units[i] / per_receive;
        displs[i] = i * count[0];
    }
    if (c->shape.vector)
        draw_displs(c, count, displs);
    bounds_cover(&in_bounds, &in, 0, send_count);
    for (int i = 0; i < c->nsenders; i++)
        bounds_cover(&out_bounds, &out, displs[i] * out.extent, count[i]);
    struct image send = image_make(&in_bounds), kept = image_make(&in_bounds);
    struct image got = image_make(&out_bounds), want = image_make(&out_bounds);

    image_write(&send, &in, 0, send_count, c->number, c->side * MOST_RANKS + c->rank);
    image_write(&kept, &in, 0, send_count, c->number, c->side * MOST_RANKS + c->rank);
    if (c->in_place)
        image_write(&got, &out, displs[c->rank] * out.extent, count[c->rank], c->number, c->rank);
    for (int i = 0; i < c->nsenders; i++)
        image_write(&want, &out, displs[i] * out.extent, count[i], c->number,
                    (c->inter ? !c->side : 0) * MOST_RANKS + i);

    struct passed pass_in = pass(c, &send, &in), pass_out = pass(c, &got, &out);
    int rc = call_mpi(c, &pass_in, send_count, &pass_out, count, displs);
    if (rc != MPI_SUCCESS)
        fail("seed %llu call %llu: returned %d", (unsigned long long)test_seed,
             (unsigned long long)c->number, rc);
    pass_ended(&pass_in);
    pass_ended(&pass_out);
    for (int i = 0; i < c->nsenders; i++)
        image_ignore_padding(&got, &want, &out, displs[i] * out.extent, count[i]);
    check(c, "receive buffer", &got, &want);
    check(c, "send buffer", &send, &kept);
    expect_rerouted(c);
    typemap_free(&in);
    typemap_free(&out);
    free(send.byte);
    free(kept.byte);
    free(got.byte);
    free(want.byte);
}

int main(int argc, char **argv)
{
    int calls = argc > 2 ? atoi(argv[2]) : 400;
    struct call c;

    MPI_Init(&argc, &argv);
    test_began("differential", argc, argv);
    all_alike = argc > 3 && !strcmp(argv[3], "alike");
    if (world_size > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    make_places();
    for (int i = 0; i < calls; i++) {
        if (i % 10 == 0) {
            if (place_comm[RECREATED] != MPI_COMM_NULL)
                MPI_Comm_free(&place_comm[RECREATED]);
            place_comm[RECREATED] = random_comm((uint64_t)i);
        }
        if (call_begin(&c, (uint64_t)i))
            call_run(&c);
    }
    free_places();
    int code = test_ended();
    MPI_Finalize();
    return code;
}
