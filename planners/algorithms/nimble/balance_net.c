/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The links of a machine and the paths over them. A table holds, for each rank and rail, the rank
 * that relays through the rail, so that a path is found without a search.
 */
#include "planners/algorithms/nimble/balance_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { NO_LINK = 0, CLOSED = 1, FIRST_RAIL = 2 };

static double rail_rate(const struct topo *t, int node, int rail, enum topo_way way)
{
    double rate = topo_rail_rate(t, node, rail, way);

    return rate > 0 ? rate : 1;
}

static double all_rails(const struct topo *t, int node, enum topo_way way)
{
    double sum = 0;

    for (int r = 0; r < t->nrails; r++)
        sum += rail_rate(t, node, r, way);
    return sum;
}

/* Is there a rank that spreads its traffic over all rails? */
static int any_striped(const struct topo *t)
{
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].rail < 0)
            return 1;
    return 0;
}

static int is_mesh(const struct topo *t, enum balance_node node)
{
    if (node != BALANCE_AUTO)
        return node == BALANCE_MESH;
    for (int r = 0; r < t->nranks; r++)
        if (t->rank[r].gpu < 0)
            return 0;
    return topo_link_least(t, TOPO_LINK_NVLINK) > 0;
}

/* The rate between two ranks of a node; from == to: of a rank's uplink. */
static double local_rate(const struct balance_net *net, int from, int to)
{
    const struct topo *t = net->t;
    const struct topo_rank *a = &t->rank[from], *b = &t->rank[to];
    double nvlink = topo_link_rate(t, a->node, TOPO_LINK_NVLINK);
    double shm = topo_link_rate(t, a->node, TOPO_LINK_SHM);

    if (net->entry[from] != net->entry[to])
        return topo_link_rate(t, a->node, TOPO_LINK_SOCKET);
    if (a->gpu >= 0 && b->gpu >= 0 && nvlink > 0)
        return nvlink;
    return shm > 0 ? shm : all_rails(t, a->node, TOPO_OUT);
}

/* The one or two links inside a node from one rank to another; none if they are the same. */
static void local_links(const struct balance_net *net, int from, int to, uint32_t link[2])
{
    const struct topo_rank *a = &net->t->rank[from], *b = &net->t->rank[to];
    uint32_t first = net->local[a->node];

    link[0] = link[1] = NO_LINK;
    if (from == to)
        return;
    if (net->mesh) {
        link[0] = balance_pair(net, from, to);
    } else {
        link[0] = first + (uint32_t)a->local;
        link[1] = first + (uint32_t)(topo_node_size(net->t, a->node) + b->local);
    }
}

static double way_capacity(const struct balance_net *net, int node, int rail, enum topo_way way)
{
    return net->nrails == net->t->nrails ? rail_rate(net->t, node, rail, way)
                                         : all_rails(net->t, node, way);
}

static void set_rails(struct balance_net *net)
{
    for (int n = 0; n < net->t->nnodes; n++)
        for (int r = 0; r < net->nrails; r++) {
            net->capacity[balance_rail_out(net, n, r)] = way_capacity(net, n, r, TOPO_OUT);
            net->capacity[balance_rail_in(net, n, r)] = way_capacity(net, n, r, TOPO_IN);
            for (int way = TOPO_OUT; way <= TOPO_IN; way++)
                if (way_capacity(net, n, r, (enum topo_way)way) > net->widest)
                    net->widest = way_capacity(net, n, r, (enum topo_way)way);
        }
}

static void set_local(struct balance_net *net, int node)
{
    int size = topo_node_size(net->t, node);

    for (int x = 0; x < size; x++)
        for (int y = 0; y < size; y++) {
            int from = topo_node_rank(net->t, node, x), to = topo_node_rank(net->t, node, y);
            if (net->mesh) {
                net->capacity[net->local[node] + (uint32_t)(x * size + y)] =
                    local_rate(net, from, to);
            } else if (x == y) {
                double rate = local_rate(net, from, from);
                net->capacity[net->local[node] + (uint32_t)x] = rate;
                net->capacity[net->local[node] + (uint32_t)(size + x)] = rate;
            }
        }
}

/* Sockets count where their link has a rate. */
static void set_entries(struct balance_net *net)
{
    const struct topo *t = net->t;

    for (int rank = 0; rank < t->nranks; rank++) {
        int node = t->rank[rank].node, entry = 0;

        if (topo_link_rate(t, node, TOPO_LINK_SOCKET) > 0)
            while (t->rank[topo_node_rank(t, node, entry)].socket != t->rank[rank].socket)
                entry++;
        net->entry[rank] = entry;
    }
}

/* If several ranks of a node hold a rail, the others take turns among them. */
static int find_holder(const struct balance_net *net, int rank, int rail)
{
    const struct topo *t = net->t;
    int node = t->rank[rank].node, holders = 0, turn;

    if (net->nrails == 1 || t->rank[rank].rail == rail)
        return rank;
    for (int l = 0; l < topo_node_size(t, node); l++)
        holders += t->rank[topo_node_rank(t, node, l)].rail == rail;
    if (!holders)
        return -1;
    turn = t->rank[rank].local % holders;
    for (int l = 0; l < topo_node_size(t, node); l++) {
        int other = topo_node_rank(t, node, l);
        if (t->rank[other].rail == rail && turn-- == 0)
            return other;
    }
    return -1;
}

static void set_holders(struct balance_net *net)
{
    for (int rank = 0; rank < net->t->nranks; rank++)
        for (int r = 0; r < net->nrails; r++) {
            size_t at = (size_t)rank * (size_t)net->nrails + (size_t)r;
            int holder = find_holder(net, rank, r);
            uint32_t *leg = net->leg + 4 * at;

            net->holder[at] = holder;
            leg[0] = leg[1] = leg[2] = leg[3] = CLOSED;
            if (holder >= 0) {
                local_links(net, rank, holder, leg);
                local_links(net, holder, rank, leg + 2);
            }
        }
}

int balance_net_open(struct balance_net *net, const struct topo *t, enum balance_node node)
{
    *net = (struct balance_net){
        .t = t, .nrails = any_striped(t) ? 1 : t->nrails, .mesh = is_mesh(t, node)};
    uint32_t rails = (uint32_t)(t->nnodes * net->nrails);
    size_t uses = (size_t)t->nranks * (size_t)net->nrails;

    net->first_in = FIRST_RAIL + rails;
    net->nlinks = FIRST_RAIL + 2 * rails;
    net->local = calloc((size_t)t->nnodes, sizeof *net->local);
    if (!net->local)
        return -ENOMEM;
    for (int n = 0; n < t->nnodes; n++) {
        uint32_t size = (uint32_t)topo_node_size(t, n);
        net->local[n] = net->nlinks;
        net->nlinks += net->mesh ? size * size : 2 * size;
    }
    net->capacity = calloc(net->nlinks, sizeof *net->capacity);
    net->background = calloc(net->nlinks, sizeof *net->background);
    net->entry = calloc((size_t)t->nranks, sizeof *net->entry);
    net->holder = calloc(uses, sizeof *net->holder);
    net->leg = calloc(4 * uses, sizeof *net->leg);
    if (!net->capacity || !net->background || !net->entry || !net->holder || !net->leg)
        return -ENOMEM;
    net->capacity[NO_LINK] = net->capacity[CLOSED] = 1;
    set_rails(net);
    set_entries(net);
    for (int n = 0; n < t->nnodes; n++)
        set_local(net, n);
    set_holders(net);
    return 0;
}

void balance_net_bound_inside(struct balance_net *net, double bytes_per_s)
{
    for (uint32_t i = net->local[0]; i < net->nlinks; i++)
        if (net->capacity[i] > bytes_per_s)
            net->capacity[i] = bytes_per_s;
}

void balance_net_close(struct balance_net *net)
{
    free(net->capacity);
    free(net->background);
    free(net->local);
    free(net->entry);
    free(net->holder);
    free(net->leg);
    *net = (struct balance_net){0};
}

const char *balance_link_text(const struct balance_net *net, uint32_t link, char *text, size_t size)
{
    const struct topo *t = net->t;
    int node = t->nnodes - 1;

    if (link < net->local[0]) {
        int in = link >= net->first_in;
        int rail = (int)(link - (in ? net->first_in : FIRST_RAIL));
        snprintf(text, size, "node %d rail %d %s", rail / net->nrails, rail % net->nrails,
                 in ? "in" : "out");
        return text;
    }
    while (link < net->local[node])
        node--;
    int at = (int)(link - net->local[node]), ranks = topo_node_size(t, node);
    int x = topo_node_rank(t, node, at / ranks), y = topo_node_rank(t, node, at % ranks);
    if (net->mesh && net->entry[x] != net->entry[y])
        snprintf(text, size, "node %d socket %d to socket %d", node, t->rank[x].socket,
                 t->rank[y].socket);
    else if (net->mesh)
        snprintf(text, size, "rank %d to rank %d", x, y);
    else
        snprintf(text, size, "rank %d %s", y, at < ranks ? "out" : "in");
    return text;
}

int balance_npaths(const struct balance_net *net, int from, int to)
{
    const struct topo_rank *a = &net->t->rank[from], *b = &net->t->rank[to];

    if (a->node != b->node)
        return 1 + (net->nrails > 1 ? net->nrails : 0);
    return 1 + (net->mesh ? topo_node_size(net->t, a->node) : 0);
}

void balance_direct_links(const struct balance_net *net, int from, int to, uint32_t link[2])
{
    const struct topo_rank *a = &net->t->rank[from], *b = &net->t->rank[to];
    int one = net->nrails == 1;

    if (a->node == b->node) {
        local_links(net, from, to, link);
        return;
    }
    link[0] = balance_rail_out(net, a->node, one ? 0 : a->rail);
    link[1] = balance_rail_in(net, b->node, one ? 0 : b->rail);
}

static void add(struct balance_path *path, const uint32_t link[2])
{
    for (int i = 0; i < 2; i++)
        if (link[i] != NO_LINK)
            path->link[path->nlinks++] = link[i];
}

static int path_between(const struct balance_net *net, int from, int to, int rail,
                        struct balance_path *path)
{
    int k = net->nrails;
    size_t out = (size_t)from * (size_t)k + (size_t)rail,
           in = (size_t)to * (size_t)k + (size_t)rail;

    if (net->holder[out] < 0 || net->holder[in] < 0)
        return 0;
    if (net->holder[out] != from)
        path->out_relay = net->holder[out];
    if (net->holder[in] != to)
        path->in_relay = net->holder[in];
    add(path, net->leg + 4 * out);
    path->link[path->nlinks++] = balance_rail_out(net, net->t->rank[from].node, rail);
    path->link[path->nlinks++] = balance_rail_in(net, net->t->rank[to].node, rail);
    add(path, net->leg + 4 * in + 2);
    return path->out_relay >= 0 || path->in_relay >= 0;
}

static int path_inside(const struct balance_net *net, int from, int to, int relay,
                       struct balance_path *path)
{
    int over = topo_node_rank(net->t, net->t->rank[from].node, relay);
    uint32_t link[2];

    if (over == from || over == to)
        return 0;
    path->out_relay = over;
    local_links(net, from, over, link);
    add(path, link);
    local_links(net, over, to, link);
    add(path, link);
    return 1;
}

int balance_path(const struct balance_net *net, int from, int to, int i, struct balance_path *path)
{
    uint32_t link[2];

    path->out_relay = path->in_relay = -1;
    path->nlinks = 0;
    if (i == 0) {
        balance_direct_links(net, from, to, link);
        add(path, link);
        return 1;
    }
    return net->t->rank[from].node == net->t->rank[to].node
               ? path_inside(net, from, to, i - 1, path)
               : path_between(net, from, to, i - 1, path);
}

double balance_congestion(const struct balance_net *net, const double *load, uint32_t *busiest)
{
    double worst = 0;
    uint32_t at = NO_LINK;

    for (uint32_t l = FIRST_RAIL; l < net->nlinks; l++)
        if (load[l] / net->capacity[l] > worst) {
            worst = load[l] / net->capacity[l];
            at = l;
        }
    if (busiest)
        *busiest = at;
    return worst;
}
