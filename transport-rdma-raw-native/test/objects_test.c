/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, contexts, memory and the lifetime of objects. */
#include "harness.h"

#include "objects.h"

#include <sys/mman.h>

static void the_default_device_is_there(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    CHECK(list != NULL && count >= 1);
    CHECK(strcmp(ibv_get_device_name(list[0]), "loop") == 0);
    CHECK(list[count] == NULL);
    CHECK_EQ(IBV_NODE_CA, list[0]->node_type);
    CHECK(ibv_get_device_guid(list[0]) != 0);
    CHECK_EQ(0, ibv_get_device_index(list[0]));
    ibv_free_device_list(list);
}

static void devices_are_added_by_name(void)
{
    CHECK_EQ(0, softverbs_add_device("loop:by-name"));
    CHECK_EQ(EEXIST, softverbs_add_device("loop:by-name"));
    CHECK_EQ(EINVAL, softverbs_add_device("loop:"));
    CHECK_EQ(EINVAL, softverbs_add_device("mlx5_0"));
    CHECK_EQ(EINVAL, softverbs_add_device("loop:a/b"));
    CHECK_EQ(EINVAL, softverbs_add_device(NULL));
    char long_name[80];
    memset(long_name, 'x', sizeof long_name);
    memcpy(long_name, "loop:", 5);
    long_name[64] = 0;
    CHECK_EQ(EINVAL, softverbs_add_device(long_name));
    long_name[63] = 0;
    CHECK_EQ(0, softverbs_add_device(long_name));
    CHECK(find_device("loop:by-name") != NULL);
    CHECK(ibv_get_device_guid(find_device("loop:by-name")) != ibv_get_device_guid(find_device("loop")));
}

static void many_devices_can_be_added(void)
{
    struct ibv_device *before = find_device("loop");
    char name[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "loop:many-%d", i);
        CHECK_EQ(0, softverbs_add_device(name));
    }
    CHECK(find_device("loop:many-0") != NULL && find_device("loop:many-999") != NULL);
    CHECK(find_device("loop") == before);
}

static void contexts_have_the_extended_functions(void)
{
    struct world world;
    world_open(&world);
    CHECK(world.context->abi_compat == (void *)UINTPTR_MAX);
    CHECK(verbs_get_ctx_op(world.context, query_port) != NULL);
    CHECK(verbs_get_ctx_op(world.context, create_cq_ex) != NULL);
    CHECK(verbs_get_ctx_op(world.context, ibv_create_flow) != NULL);
    CHECK(verbs_get_ctx_op(world.context, create_wq) != NULL);
    CHECK(verbs_get_ctx_op(world.context, alloc_dm) == NULL);
    CHECK(world.context->async_fd >= 0);
    world_close(&world);
}

static void queries_describe_an_ethernet_port(void)
{
    struct world world;
    struct ibv_device_attr device;
    struct ibv_device_attr_ex ex;
    struct ibv_port_attr port;
    struct ibv_gid_entry entry;
    union ibv_gid gid;
    world_open(&world);
    CHECK_EQ(0, ibv_query_device(world.context, &device));
    CHECK_EQ(1, device.phys_port_cnt);
    CHECK_EQ(0xffffff, device.vendor_id);       /* 0 is not a vendor, and rdma-core's tests reject it */
    CHECK(device.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING);
    CHECK_EQ(0, ibv_query_device_ex(world.context, NULL, &ex));
    CHECK_EQ(device.max_qp_wr, ex.orig_attr.max_qp_wr);
    CHECK(ex.rss_caps.supported_qpts & 1u << IBV_QPT_RAW_PACKET);
    CHECK(ex.raw_packet_caps & IBV_RAW_PACKET_CAP_IP_CSUM);
    CHECK_EQ(0, ibv_query_port(world.context, 1, &port));
    CHECK_EQ(IBV_PORT_ACTIVE, port.state);
    CHECK_EQ(IBV_LINK_LAYER_ETHERNET, port.link_layer);
    CHECK_EQ(IBV_MTU_1024, port.active_mtu);
    CHECK_EQ(EINVAL, ibv_query_port(world.context, 2, &port));
    CHECK_EQ(EINVAL, ibv_query_port(world.context, 0, &port));
    CHECK_EQ(0, ibv_query_gid(world.context, 1, 0, &gid));
    CHECK_EQ(0xfe, gid.raw[0]);
    CHECK_EQ(-1, ibv_query_gid(world.context, 1, 1, &gid));
    CHECK_EQ(0, ibv_query_gid_ex(world.context, 1, 0, &entry, 0));
    CHECK(memcmp(&entry.gid, &gid, 16) == 0 || entry.gid.raw[0] == 0xfe);
    world_close(&world);
}

/*
 * The exported symbol, as called by programs built before the inline function existed: its structure ends at 48 bytes.
 */
#undef ibv_query_port
static void the_old_query_port_stays_within_its_structure(void)
{
    struct world world;
    uint8_t attr[64];
    world_open(&world);
    memset(attr, 0xee, sizeof attr);
    CHECK_EQ(0, ibv_query_port(world.context, 1, (struct _compat_ibv_port_attr *)attr));
    CHECK_EQ(IBV_PORT_ACTIVE, attr[0]);
    CHECK_EQ(0xee, attr[48]);
    world_close(&world);
}

static void memory_regions_are_checked(void)
{
    struct world world;
    world_open(&world);
    uint8_t *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    struct ibv_mr *mr = ibv_reg_mr(world.pd, memory, 8192, IBV_ACCESS_LOCAL_WRITE);
    CHECK(mr != NULL);
    CHECK(mr->lkey != 0 && mr->lkey != 0x100);
    CHECK(mr->addr == memory && mr->length == 8192 && mr->pd == world.pd && mr->context == world.context);
    struct ibv_mr *iova = ibv_reg_mr_iova2(world.pd, memory, 100, 0x1000, IBV_ACCESS_LOCAL_WRITE);
    CHECK(iova != NULL && iova->lkey != mr->lkey);
    uint32_t old_key = iova->lkey;
    CHECK_EQ(0, ibv_dereg_mr(iova));
    iova = ibv_reg_mr(world.pd, memory, 100, 0);
    CHECK(iova != NULL && iova->lkey != old_key);
    CHECK_FAILS(EINVAL, ibv_reg_mr(world.pd, memory, 0, 0));
    CHECK_FAILS(EINVAL, ibv_reg_mr(world.pd, memory, 100, IBV_ACCESS_REMOTE_WRITE));
    CHECK_FAILS(EOPNOTSUPP, ibv_reg_mr(world.pd, memory, 100, IBV_ACCESS_ON_DEMAND));
    munmap(memory + 4096, 4096);
    CHECK_FAILS(EFAULT, ibv_reg_mr(world.pd, memory, 8192, 0));
    CHECK_FAILS(EFAULT, ibv_reg_mr(world.pd, (void *)(UINTPTR_MAX - 4095), 4095, 0));
    CHECK_EQ(EBUSY, ibv_dealloc_pd(world.pd));
    CHECK_EQ(0, ibv_dereg_mr(iova));
    CHECK_EQ(0, ibv_dereg_mr(mr));
    munmap(memory, 4096);
    world_close(&world);
}

/* Nothing is pinned, so the memlock limit does not apply. */
static void all_memory_is_registered_for_sending(void)
{
    struct pair p;
    struct ibv_send_wr *bad;
    pair_open(&p);
    CHECK_EQ(0, softverbs_set_memlock_limit(p.world.device_name, 0));
    struct ibv_mr *all = ibv_reg_mr(p.world.pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND);
    CHECK(all != NULL && all->lkey != 0);
    CHECK_FAILS(EOPNOTSUPP, ibv_reg_mr(p.world.pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE));
    CHECK_EQ(0, post_recv_slot(&p.b, 0, SLOT_BYTES));
    struct ibv_sge sge[2] = {{(uintptr_t)p.frame, 20, all->lkey}, {(uintptr_t)p.frame + 20, p.length - 20, all->lkey}};
    struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
    CHECK_EQ(0, ibv_post_send(p.a.qp, &wr, &bad));
    CHECK_EQ(IBV_WC_SUCCESS, poll_one(p.a.cq).status);
    CHECK_EQ(p.length, poll_one(p.b.cq).byte_len);
    CHECK(memcmp(p.frame, slot_at(&p.b, 0), p.length) == 0);

    struct ibv_sge into = {(uintptr_t)p.frame, sizeof p.frame, all->lkey};
    struct ibv_recv_wr receive = {.sg_list = &into, .num_sge = 1};
    struct ibv_recv_wr *bad_receive;
    CHECK_EQ(0, ibv_post_recv(p.b.qp, &receive, &bad_receive));
    CHECK_EQ(0, send_frame(&p.a, p.frame, p.length, 0));
    CHECK_EQ(IBV_WC_LOC_PROT_ERR, poll_one(p.b.cq).status);
    CHECK_EQ(0, ibv_dereg_mr(all));
    pair_close(&p);
}

static void objects_in_use_are_busy(void)
{
    struct world world;
    struct side side;
    world_open(&world);
    side_open(&world, &side);
    struct ibv_flow *flow = steer_mac(&side, mac_b);
    CHECK_EQ(EBUSY, ibv_destroy_qp(side.qp));
    CHECK_EQ(EBUSY, ibv_destroy_cq(side.cq));
    CHECK_EQ(EBUSY, ibv_dealloc_pd(world.pd));
    CHECK_EQ(EBUSY, ibv_close_device(world.context));
    struct ibv_comp_channel *channel = ibv_create_comp_channel(world.context);
    struct ibv_cq *cq = ibv_create_cq(world.context, 1, NULL, channel, 0);
    CHECK(channel != NULL && cq != NULL);
    CHECK_EQ(EBUSY, ibv_destroy_comp_channel(channel));
    CHECK_EQ(0, ibv_destroy_cq(cq));
    CHECK_EQ(0, ibv_destroy_comp_channel(channel));
    CHECK_EQ(0, ibv_destroy_flow(flow));
    side_close(&side);
    world_close(&world);
}

static void queue_pairs_are_checked_when_created(void)
{
    struct world world;
    world_open(&world);
    struct ibv_cq *cq = ibv_create_cq(world.context, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr good = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET,
                                    .cap = {.max_send_wr = 5, .max_recv_wr = 9, .max_send_sge = 1, .max_recv_sge = 1}};
    struct ibv_qp_init_attr attr = good;
    struct ibv_qp *qp = ibv_create_qp(world.pd, &attr);
    CHECK(qp != NULL);
    CHECK_EQ(8, attr.cap.max_send_wr);
    CHECK_EQ(16, attr.cap.max_recv_wr);
    CHECK_EQ(IBV_QPS_RESET, qp->state);
    CHECK(qp->qp_num != 0 && qp->qp_num <= 0xffffff);
    CHECK_EQ(0, ibv_destroy_qp(qp));
    attr = good;
    attr.qp_type = IBV_QPT_UD;
    CHECK_FAILS(EOPNOTSUPP, ibv_create_qp(world.pd, &attr));
    attr = good;
    attr.send_cq = NULL;
    CHECK_FAILS(EINVAL, ibv_create_qp(world.pd, &attr));
    attr = good;
    attr.cap.max_send_wr = 32769;
    CHECK_FAILS(EINVAL, ibv_create_qp(world.pd, &attr));
    attr = good;
    attr.cap.max_recv_sge = 31;
    CHECK_FAILS(EINVAL, ibv_create_qp(world.pd, &attr));
    attr = good;
    attr.cap.max_inline_data = 100000;
    CHECK_FAILS(EINVAL, ibv_create_qp(world.pd, &attr));
    struct ibv_qp_init_attr_ex ex = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RAW_PACKET, .pd = world.pd,
                                     .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
                                     .create_flags = IBV_QP_CREATE_SCATTER_FCS};
    CHECK_FAILS(EOPNOTSUPP, ibv_create_qp_ex(world.context, &ex));
    CHECK_FAILS(EINVAL, ibv_create_cq(world.context, 0, NULL, NULL, 0));
    CHECK_FAILS(EINVAL, ibv_create_cq(world.context, 1, NULL, NULL, 7));
    CHECK_EQ(0, ibv_destroy_cq(cq));
    world_close(&world);
}

static void transitions_of_queue_pairs_follow_the_kernels_rules(void)
{
    struct world world;
    world_open(&world);
    struct ibv_cq *cq = ibv_create_cq(world.context, 16, NULL, NULL, 0);
    struct ibv_qp *qp = qp_create(&world, cq);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 2};
    CHECK_EQ(EINVAL, to_state(qp, IBV_QPS_INIT));       /* a port is required */
    CHECK_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT));
    attr.port_num = 1;
    CHECK_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_QKEY));
    CHECK_EQ(EINVAL, to_state(qp, IBV_QPS_RTS));
    CHECK_EQ(EINVAL, to_state(qp, IBV_QPS_ERR));
    CHECK_EQ(0, to_init(qp));
    CHECK_EQ(EINVAL, to_state(qp, IBV_QPS_RTS));
    CHECK_EQ(0, to_init(qp));
    CHECK_EQ(EINVAL, ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .port_num = 1},
                                   IBV_QP_STATE | IBV_QP_PORT));
    CHECK_EQ(0, to_state(qp, IBV_QPS_RTR));
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_INIT};
    CHECK_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
    attr.cur_qp_state = IBV_QPS_RTR;
    CHECK_EQ(0, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
    CHECK_EQ(IBV_QPS_RTS, state_of(qp));
    CHECK_EQ(EOPNOTSUPP, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT));
    CHECK_EQ(0, to_state(qp, IBV_QPS_SQD));
    CHECK_EQ(0, to_state(qp, IBV_QPS_RTS));
    CHECK_EQ(0, to_state(qp, IBV_QPS_ERR));
    CHECK_EQ(EINVAL, to_state(qp, IBV_QPS_RTS));
    CHECK_EQ(0, to_state(qp, IBV_QPS_RESET));
    to_ready(qp);
    CHECK_EQ(IBV_QPS_RTS, qp->state);
    CHECK_EQ(EINVAL, to_state(qp, (enum ibv_qp_state)99));
    CHECK_EQ(0, ibv_destroy_qp(qp));
    CHECK_EQ(0, ibv_destroy_cq(cq));
    world_close(&world);
}

static void strings_are_never_null(void)
{
    for (int i = -2; i < 40; i++) {
        CHECK(ibv_wc_status_str((enum ibv_wc_status)i) != NULL);
        CHECK(ibv_event_type_str((enum ibv_event_type)i) != NULL);
        CHECK(ibv_port_state_str((enum ibv_port_state)i) != NULL);
        CHECK(ibv_node_type_str((enum ibv_node_type)i) != NULL);
    }
    CHECK(strcmp(ibv_wc_status_str(IBV_WC_SUCCESS), "success") == 0);
}

/* A port spreads queue pairs over its send queues by this number, so queue pairs that cannot send must not count. */
static void queue_pairs_that_send_are_numbered_without_gaps(void)
{
    struct world world;
    world_open(&world);
    struct ibv_cq *cq = ibv_create_cq(world.context, 16, NULL, NULL, 0);
    struct ibv_wq_init_attr init = {.wq_type = IBV_WQT_RQ, .max_wr = 16, .max_sge = 1, .pd = world.pd, .cq = cq};
    for (uint32_t i = 0; i < 4; i++) {
        struct ibv_qp *qp = qp_create(&world, cq);
        struct ibv_wq *wq = ibv_create_wq(world.context, &init);
        CHECK_EQ(i, ((struct sv_qp *)qp)->sender_number);
        CHECK_EQ(0, ibv_destroy_wq(wq));
        CHECK_EQ(0, ibv_destroy_qp(qp));
    }
    CHECK_EQ(0, ibv_destroy_cq(cq));
    world_close(&world);
}

const struct test object_tests[] = {
    {"queue pairs that send are numbered without gaps", queue_pairs_that_send_are_numbered_without_gaps},
    {"the default device is there", the_default_device_is_there},
    {"devices are added by name", devices_are_added_by_name},
    {"many devices can be added", many_devices_can_be_added},
    {"contexts have the extended functions", contexts_have_the_extended_functions},
    {"queries describe an Ethernet port", queries_describe_an_ethernet_port},
    {"the old query_port stays within its structure", the_old_query_port_stays_within_its_structure},
    {"memory regions are checked", memory_regions_are_checked},
    {"all memory is registered for sending", all_memory_is_registered_for_sending},
    {"objects in use are busy", objects_in_use_are_busy},
    {"queue pairs are checked when created", queue_pairs_are_checked_when_created},
    {"transitions of queue pairs follow the kernel's rules", transitions_of_queue_pairs_follow_the_kernels_rules},
    {"strings are never null", strings_are_never_null},
    {NULL, NULL},
};
