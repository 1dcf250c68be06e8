package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpInitAttrExLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.QpRateLimitAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.VerbsContextLayout;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/**
 * A raw-packet queue pair ({@code IBV_QPT_RAW_PACKET}): a ring of frames to send and a ring of buffers to
 * receive into.
 *
 * <p>A queue pair is created in state RESET and must be moved to RTS. Receive requests may be posted from INIT
 * on.
 * <pre>{@code
 * QueuePair pair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(cq).build());
 * pair.toInit(context.ownPort());
 * pair.toReadyToReceive();
 * pair.toReadyToSend();
 * Flow flow = pair.createFlow(FlowSpec.parse("dst 10.0.0.1 udp dst-port 53"));
 * }</pre>
 *
 * <p>One thread may post to the send ring while another posts to the receive ring. Providers also serialise
 * several threads that post to the same ring.
 */
public final class QueuePair extends VerbsObject {
    /** {@code IBV_QP_STATE}. */
    public static final int ATTR_STATE = 1;
    /** {@code IBV_QP_PORT}. */
    public static final int ATTR_PORT = 1 << 5;
    /** {@code IBV_QP_RATE_LIMIT}. */
    public static final int ATTR_RATE_LIMIT = 1 << 25;

    /** The field of {@code struct ibv_qp_attr} has 8 bits. */
    private static final int MAX_PORT = 255;

    final VerbsContext context;
    private final ProtectionDomain domain;
    private final QueuePairOptions options;
    private final MemorySegment postSendFunction;
    private final MemorySegment postReceiveFunction;
    private final int number;
    private volatile int port;

    private QueuePair(ProtectionDomain domain, QueuePairOptions granted, long qp, VerbsObject[] uses) {
        super(domain.lifecycle, qp, uses);
        context = domain.context;
        this.domain = domain;
        options = granted;
        postSendFunction = context.postSendFunction;
        postReceiveFunction = context.postReceiveFunction;
        number = NativeMemory.getInt(qp + QpLayout.QP_NUM_OFFSET);
        port = granted.rssOrNull() != null ? granted.rssOrNull().port() : context.ownPort();
        context.eventSources.put(qp, this);
    }

    static QueuePair create(ProtectionDomain domain, QueuePairOptions options) {
        try (Arena arena = Arena.ofConfined()) {
            QueuePairAttributes attributes = new QueuePairAttributes(arena, domain, options);
            long qp = attributes.create();
            return new QueuePair(domain, attributes.granted(), qp, uses(domain, options));
        }
    }

    private static VerbsObject[] uses(ProtectionDomain domain, QueuePairOptions options) {
        List<VerbsObject> uses = new ArrayList<>(List.of(domain));
        if (options.rssOrNull() != null) {
            uses.add(options.rssOrNull().table());
        }
        if (options.sendCompletionQueue() != null) {
            uses.add(options.sendCompletionQueue());
        }
        if (options.receiveCompletionQueue() != null
                && options.receiveCompletionQueue() != options.sendCompletionQueue()) {
            uses.add(options.receiveCompletionQueue());
        }
        return uses.toArray(VerbsObject[]::new);
    }

    /** Returns the queue pair number. Also valid after closing. */
    public int number() {
        return number;
    }

    /**
     * Returns the port of the last transition to INIT, or that of the options of an RSS queue pair. Before the first
     * transition it is {@link VerbsContext#ownPort()}.
     */
    public int port() {
        return port;
    }

    /** Returns the protection domain. Requests may use only memory registered in it. */
    public ProtectionDomain protectionDomain() {
        return domain;
    }

    /** Returns the options with the sizes that the device granted, which may exceed those requested. */
    public QueuePairOptions options() {
        return options;
    }

    /** Queries the current state from the device. */
    public QueuePairState state() {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(QpAttrLayout.SIZE_BYTES, Long.BYTES).address();
            long initAttr = arena.allocate(QpInitAttrExLayout.SIZE_BYTES, Long.BYTES).address();
            VerbsException.check("ibv_query_qp",
                    NativeCall.status(context.library.queryQp, nativeAddress(), attr, ATTR_STATE, initAttr), "state");
            return QueuePairState.of(NativeMemory.getInt(attr + QpAttrLayout.QP_STATE_OFFSET));
        }
    }

    /**
     * Moves the queue pair from RESET to INIT.
     *
     * @param newPort the port number, from 1
     */
    public void toInit(int newPort) {
        if (newPort > MAX_PORT) {
            throw new VerbsException("ibv_modify_qp", Errno.EINVAL, "port " + newPort + " of " + context.deviceName()
                    + ": libibverbs reaches ports up to " + MAX_PORT + " only; configure fewer virtual functions and"
                    + " subfunctions (mlxconfig NUM_OF_VFS, PF_TOTAL_SF)");
        }
        modify(QueuePairState.INIT, newPort, ATTR_STATE | ATTR_PORT);
    }

    /** Moves the queue pair from INIT to RTR. From now on it receives frames. */
    public void toReadyToReceive() {
        modify(QueuePairState.RTR, 0, ATTR_STATE);
    }

    /** Moves the queue pair from RTR to RTS. From now on it can also send frames. */
    public void toReadyToSend() {
        modify(QueuePairState.RTS, 0, ATTR_STATE);
    }

    /** Moves the queue pair from any state to RESET. Outstanding requests are discarded without a completion. */
    public void toReset() {
        modify(QueuePairState.RESET, 0, ATTR_STATE);
    }

    /**
     * Moves the queue pair from any state to ERR. Outstanding requests complete with
     * {@link WcStatus#WR_FLUSH_ERR}.
     */
    public void toError() {
        modify(QueuePairState.ERR, 0, ATTR_STATE);
    }

    /**
     * Modifies the attributes selected by a mask ({@code ibv_modify_qp}).
     *
     * @param attributeMask an OR of {@link #ATTR_STATE} and {@link #ATTR_PORT}; values that it does not select
     *                      are ignored
     * @throws VerbsException EINVAL if the transition from the current state is not allowed
     */
    public void modify(QueuePairState state, int newPort, int attributeMask) {
        boolean setsPort = (attributeMask & ATTR_PORT) != 0;
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(QpAttrLayout.SIZE_BYTES, Long.BYTES).address();
            NativeMemory.putInt(attr + QpAttrLayout.QP_STATE_OFFSET, state.ordinal());
            NativeMemory.putByte(attr + QpAttrLayout.PORT_NUM_OFFSET, (byte) newPort);
            VerbsException.check("ibv_modify_qp",
                    NativeCall.status(context.library.modifyQp, nativeAddress(), attr, attributeMask),
                    "queue pair " + number + " to " + state + (setsPort ? " on port " + newPort : ""));
        }
        if (setsPort) {
            port = newPort;
        }
    }

    /**
     * Limits the send rate. The queue pair must be in RTS.
     *
     * @param kilobitsPerSecond the limit, or 0 for no limit
     */
    public void rateLimit(int kilobitsPerSecond) {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(QpRateLimitAttrLayout.SIZE_BYTES, Long.BYTES).address();
            NativeMemory.putInt(attr + QpRateLimitAttrLayout.RATE_LIMIT_OFFSET, kilobitsPerSecond);
            long function = context.requiredExtension(VerbsContextLayout.MODIFY_QP_RATE_LIMIT_OFFSET,
                    "ibv_modify_qp_rate_limit");
            VerbsException.check("ibv_modify_qp_rate_limit", NativeCall.status(function, nativeAddress(), attr),
                    kilobitsPerSecond + " kbit/s");
        }
    }

    /**
     * Posts a linked list of {@link SendWr} structures. Hot path: does not allocate and does not wait for the device.
     * On softverbs the call may send the frames by system calls.
     *
     * @param firstWrAddress      address of the first request
     * @param badWrPointerAddress address of 8 bytes; on failure they receive the address of the first request
     *                            not posted
     * @return 0, or the error number; ENOMEM if the ring is full
     */
    public int postSend(long firstWrAddress, long badWrPointerAddress) {
        long qp = address;
        if (qp == 0) {
            throw closedException();
        }
        return HotCalls.post(postSendFunction, qp, firstWrAddress, badWrPointerAddress);
    }

    /** Posts a linked list of {@link ReceiveWr} structures; see {@link #postSend}. */
    public int postReceive(long firstWrAddress, long badWrPointerAddress) {
        long qp = address;
        if (qp == 0) {
            throw closedException();
        }
        return HotCalls.post(postReceiveFunction, qp, firstWrAddress, badWrPointerAddress);
    }

    /**
     * Installs a rule that steers matching frames to this queue pair. A rule without a port is for {@link #port()}.
     * This method does not check whether the
     * rule would take traffic that the host needs: call {@link FlowSpec#checkHostTraffic()} first.
     *
     * @throws VerbsException EEXIST if the same rule exists; ENOMEM if the rule table or the priority is full
     */
    public Flow createFlow(FlowSpec spec) {
        lifecycle.lock();
        try {
            return Flow.create(this, spec);
        } finally {
            lifecycle.unlock();
        }
    }

    @Override
    int destroy(long qp) {
        return NativeCall.status(context.library.destroyQp, qp);
    }

    @Override
    void afterDestroy(long qp) {
        context.eventSources.remove(qp, this);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_qp";
    }

    @Override
    public String toString() {
        return "QueuePair(" + context.deviceName() + ", number " + number + (isClosed() ? ", closed)" : ")");
    }
}
