package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.Libc;
import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.abi.VerbsLayouts.VerbsContextLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.WqAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.WqInitAttrLayout;
import io.rdmaraw.verbs.abi.VerbsLayouts.WqLayout;
import io.rdmaraw.verbs.abi.WcStatus;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.Arena;

/**
 * A receive work queue ({@code struct ibv_wq}): a receive ring without a queue pair, to be put into an
 * {@link RwqIndirectionTable}. It is created in state RESET; {@link #toReady} starts it.
 */
public final class WorkQueue extends VerbsObject {
    private static final int ATTR_STATE = 1;
    private static final int TYPE_RQ = 0;
    private static final int MASK_FLAGS = 1;
    private static final long MUTEX_INIT = Libc.address("pthread_mutex_init");
    private static final long COND_INIT = Libc.address("pthread_cond_init");

    private final VerbsContext context;
    private final MemorySegment postReceiveFunction;
    private final int number;
    private final int maxWr;
    private final int maxSge;

    private WorkQueue(VerbsContext context, ProtectionDomain domain, CompletionQueue completionQueue, long wq,
            int maxWr, int maxSge) {
        super(context.lifecycle, wq, domain, completionQueue);
        this.context = context;
        this.maxWr = maxWr;
        this.maxSge = maxSge;
        postReceiveFunction = MemorySegment.ofAddress(NativeMemory.getLong(wq + WqLayout.POST_RECV_OFFSET));
        number = NativeMemory.getInt(wq + WqLayout.WQ_NUM_OFFSET);
        context.eventSources.put(wq, this);
    }

    static WorkQueue create(VerbsContext context, ProtectionDomain domain, CompletionQueue completionQueue, int maxWr,
            int maxSge, int createFlags) {
        long function = context.requiredExtension(VerbsContextLayout.CREATE_WQ_OFFSET, "ibv_create_wq");
        try (Arena arena = Arena.ofConfined()) {
            long attr = attributes(arena, domain, completionQueue, maxWr, maxSge, createFlags);
            return wrapCreated(context, domain, completionQueue, attr, "ibv_create_wq",
                    NativeCall.pointer(function, context.nativeAddress(), attr));
        }
    }

    static WorkQueue create(VerbsContext context, ProtectionDomain domain, CompletionQueue completionQueue, int maxWr,
            long function, String call, long driverAttributes) {
        try (Arena arena = Arena.ofConfined()) {
            long attr = attributes(arena, domain, completionQueue, maxWr, 1, 0);
            return wrapCreated(context, domain, completionQueue, attr, call,
                    NativeCall.pointer(function, context.nativeAddress(), attr, driverAttributes, 0));
        }
    }

    private static long attributes(Arena arena, ProtectionDomain domain, CompletionQueue completionQueue, int maxWr,
            int maxSge, int createFlags) {
        long attr = arena.allocate(WqInitAttrLayout.SIZE_BYTES, Long.BYTES).address();
        NativeMemory.putInt(attr + WqInitAttrLayout.WQ_TYPE_OFFSET, TYPE_RQ);
        NativeMemory.putInt(attr + WqInitAttrLayout.MAX_WR_OFFSET, maxWr);
        NativeMemory.putInt(attr + WqInitAttrLayout.MAX_SGE_OFFSET, maxSge);
        NativeMemory.putLong(attr + WqInitAttrLayout.PD_OFFSET, domain.nativeAddress());
        NativeMemory.putLong(attr + WqInitAttrLayout.CQ_OFFSET, completionQueue.nativeAddress());
        NativeMemory.putInt(attr + WqInitAttrLayout.COMP_MASK_OFFSET, createFlags == 0 ? 0 : MASK_FLAGS);
        NativeMemory.putInt(attr + WqInitAttrLayout.CREATE_FLAGS_OFFSET, createFlags);
        return attr;
    }

    private static WorkQueue wrapCreated(VerbsContext context, ProtectionDomain domain, CompletionQueue completionQueue,
            long attr, String call, long result) {
        int maxWr = NativeMemory.getInt(attr + WqInitAttrLayout.MAX_WR_OFFSET);
        int maxSge = NativeMemory.getInt(attr + WqInitAttrLayout.MAX_SGE_OFFSET);
        long wq = VerbsContext.checkCreated(call, result, maxWr + " receives of " + maxSge + " SGEs");
        initialise(wq);
        return new WorkQueue(context, domain, completionQueue, wq, maxWr, maxSge);
    }

    /** Initialises the members that the inline function of the C header initialises after the provider's call. */
    private static void initialise(long wq) {
        NativeMemory.putLong(wq + WqLayout.WQ_CONTEXT_OFFSET, 0);
        NativeMemory.putInt(wq + WqLayout.EVENTS_COMPLETED_OFFSET, 0);
        NativeCall.status(MUTEX_INIT, wq + WqLayout.MUTEX_OFFSET, 0);
        NativeCall.status(COND_INIT, wq + WqLayout.COND_OFFSET, 0);
    }

    /** Returns the number of the work queue. Also valid after closing. */
    public int number() {
        return number;
    }

    /** Returns the maximum number of outstanding receives. */
    public int maxWr() {
        return maxWr;
    }

    /** Returns the maximum number of SGEs of a receive. */
    public int maxSge() {
        return maxSge;
    }

    /** Returns the state that the provider last set. */
    public WorkQueueState state() {
        return WorkQueueState.of(NativeMemory.getInt(nativeAddress() + WqLayout.STATE_OFFSET));
    }

    /** Moves the work queue from RESET to RDY. From now on receives can be posted, and frames arrive. */
    public void toReady() {
        modify(WorkQueueState.RDY);
    }

    /** Moves the work queue to RESET. Outstanding receives are discarded without a completion. */
    public void toReset() {
        modify(WorkQueueState.RESET);
    }

    /** Moves the work queue to ERR. Outstanding receives complete with {@link WcStatus#WR_FLUSH_ERR}. */
    public void toError() {
        modify(WorkQueueState.ERR);
    }

    private void modify(WorkQueueState state) {
        long function = context.requiredExtension(VerbsContextLayout.MODIFY_WQ_OFFSET, "ibv_modify_wq");
        try (Arena arena = Arena.ofConfined()) {
            long attr = arena.allocate(WqAttrLayout.SIZE_BYTES, Long.BYTES).address();
            NativeMemory.putInt(attr + WqAttrLayout.ATTR_MASK_OFFSET, ATTR_STATE);
            NativeMemory.putInt(attr + WqAttrLayout.WQ_STATE_OFFSET, state.ordinal());
            VerbsException.check("ibv_modify_wq", NativeCall.status(function, nativeAddress(), attr),
                    "work queue " + number + " to " + state);
        }
    }

    /** Posts a linked list of {@link ReceiveWr} structures; see {@link QueuePair#postSend}. Hot path. */
    public int postReceive(long firstWrAddress, long badWrPointerAddress) {
        long wq = address;
        if (wq == 0) {
            throw closedException();
        }
        return HotCalls.post(postReceiveFunction, wq, firstWrAddress, badWrPointerAddress);
    }

    @Override
    int destroy(long wq) {
        return NativeCall.status(context.requiredExtension(VerbsContextLayout.DESTROY_WQ_OFFSET, "ibv_destroy_wq"), wq);
    }

    @Override
    void afterDestroy(long wq) {
        context.eventSources.remove(wq, this);
    }

    @Override
    String destroyCall() {
        return "ibv_destroy_wq";
    }
}
