package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.QpAttrLayout;
import io.rdmaraw.verbs.abi.QpInitAttrExLayout;
import io.rdmaraw.verbs.abi.QpLayout;
import io.rdmaraw.verbs.abi.QpRateLimitAttrLayout;
import io.rdmaraw.verbs.abi.VerbsContextLayout;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;

/**
 * A raw-packet queue pair ({@code IBV_QPT_RAW_PACKET}): a ring of frames to send and a ring of buffers to receive into.
 *
 * <p>It is made in state RESET and used in RTS: {@link #toInit}, {@link #toReadyToReceive}, {@link #toReadyToSend}.
 * Receives may be posted from INIT on. Posting from one thread to each ring needs no care; the provider serialises
 * more.
 */
public final class QueuePair extends VerbsObject {
    /** {@code IBV_QP_STATE}. */
    public static final int ATTR_STATE = 1;
    /** {@code IBV_QP_PORT}. */
    public static final int ATTR_PORT = 1 << 5;
    /** {@code IBV_QP_RATE_LIMIT}. */
    public static final int ATTR_RATE_LIMIT = 1 << 25;

    final VerbsContext context;
    private final ProtectionDomain domain;
    private final QueuePairOptions options;
    private final MemorySegment postSendFunction;
    private final MemorySegment postReceiveFunction;
    private final int number;

    private QueuePair(ProtectionDomain domain, QueuePairOptions granted, long qp, VerbsObject[] uses) {
        super(domain.lifecycle, qp, uses);
        context = domain.context;
        this.domain = domain;
        options = granted;
        postSendFunction = context.postSendFunction;
        postReceiveFunction = context.postReceiveFunction;
        number = NativeMemory.getInt(qp + QpLayout.QP_NUM_OFFSET);
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

    /** Returns the queue pair number; answers also after closing. */
    public int number() {
        return number;
    }

    /** Returns the protection domain, whose memory this queue pair may use. */
    public ProtectionDomain protectionDomain() {
        return domain;
    }

    /**
     * Returns what the queue pair was created with; sizes are those that the device granted, at least what was asked
     * for.
     */
    public QueuePairOptions options() {
        return options;
    }

    /** Asks the device for the state. */
    public QueuePairState state() {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(QpAttrLayout.SIZE_BYTES, Long.BYTES).address();
            long initAttr = arena.allocate(QpInitAttrExLayout.SIZE_BYTES, Long.BYTES).address();
            VerbsException.check("ibv_query_qp",
                    NativeCall.status(context.library.queryQp, openAddress(), attr, ATTR_STATE, initAttr), "state");
            return QueuePairState.of(NativeMemory.getInt(attr + QpAttrLayout.QP_STATE_OFFSET));
        }
    }

    /** Goes from RESET to INIT on a port; the first port is 1. */
    public void toInit(int port) {
        modify(QueuePairState.INIT, port, ATTR_STATE | ATTR_PORT);
    }

    /** Goes from INIT to RTR: frames are received. */
    public void toReadyToReceive() {
        modify(QueuePairState.RTR, 0, ATTR_STATE);
    }

    /** Goes from RTR to RTS: frames are sent, too. */
    public void toReadyToSend() {
        modify(QueuePairState.RTS, 0, ATTR_STATE);
    }

    /** Goes from any state to RESET: requests that are outstanding vanish without completion. */
    public void toReset() {
        modify(QueuePairState.RESET, 0, ATTR_STATE);
    }

    /** Goes from any state to ERR: requests that are outstanding complete with {@link WcStatus#WR_FLUSH_ERR}. */
    public void toError() {
        modify(QueuePairState.ERR, 0, ATTR_STATE);
    }

    /**
     * Changes state and port in any combination; {@code attributeMask} says which of them count.
     *
     * @throws VerbsException EINVAL when the state does not follow the present one
     */
    public void modify(QueuePairState state, int port, int attributeMask) {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(QpAttrLayout.SIZE_BYTES, Long.BYTES).address();
            NativeMemory.putInt(attr + QpAttrLayout.QP_STATE_OFFSET, state.ordinal());
            NativeMemory.putByte(attr + QpAttrLayout.PORT_NUM_OFFSET, (byte) port);
            VerbsException.check("ibv_modify_qp",
                    NativeCall.status(context.library.modifyQp, openAddress(), attr, attributeMask),
                    "queue pair " + number + " to " + state
                            + ((attributeMask & ATTR_PORT) != 0 ? " on port " + port : ""));
        }
    }

    /**
     * Limits the rate of sending, in RTS.
     *
     * @param kilobitsPerSecond 0 for no limit
     */
    public void rateLimit(int kilobitsPerSecond) {
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(QpRateLimitAttrLayout.SIZE_BYTES, Long.BYTES).address();
            NativeMemory.putInt(attr + QpRateLimitAttrLayout.RATE_LIMIT_OFFSET, kilobitsPerSecond);
            long function = context.requiredExtension(VerbsContextLayout.MODIFY_QP_RATE_LIMIT_OFFSET,
                    "ibv_modify_qp_rate_limit");
            VerbsException.check("ibv_modify_qp_rate_limit", NativeCall.status(function, openAddress(), attr),
                    kilobitsPerSecond + " kbit/s");
        }
    }

    /**
     * Posts a linked list of {@link SendWr}. Hot: allocates nothing, does not block.
     *
     * @param firstWrAddress      the first request
     * @param badWrPointerAddress eight bytes; on failure they get the address of the first request that was not posted
     * @return 0, or the error number: ENOMEM when the ring is full
     */
    public int postSend(long firstWrAddress, long badWrPointerAddress) {
        long qp = address;
        if (qp == 0) {
            throw closed();
        }
        return HotCalls.post(postSendFunction, qp, firstWrAddress, badWrPointerAddress);
    }

    /** Posts a linked list of {@link ReceiveWr}; see {@link #postSend}. */
    public int postReceive(long firstWrAddress, long badWrPointerAddress) {
        long qp = address;
        if (qp == 0) {
            throw closed();
        }
        return HotCalls.post(postReceiveFunction, qp, firstWrAddress, badWrPointerAddress);
    }

    /**
     * Steers the frames that a rule matches to this queue pair. Whether the rule would cut the host off is for the
     * caller to ask first: {@link FlowSpec#takesHostTraffic()}.
     *
     * @throws VerbsException EEXIST when the same rule exists; ENOMEM when the table or the priority is full
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
    void released(long qp) {
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
