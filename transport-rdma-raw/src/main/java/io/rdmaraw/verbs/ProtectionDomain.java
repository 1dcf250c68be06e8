package io.rdmaraw.verbs;

import io.rdmaraw.ffi.NativeCall;

/** A protection domain ({@code struct ibv_pd}). Thread-safe. */
public final class ProtectionDomain extends VerbsObject {
    /** {@code IB_UVERBS_ACCESS_OPTIONAL_RANGE}: flags that the provider may ignore. */
    private static final int OPTIONAL_ACCESS_FLAGS = 0x3ff00000;

    /** {@code IBV_ACCESS_ON_DEMAND} */
    private static final int ACCESS_ON_DEMAND = 1 << 6;

    final VerbsContext context;

    ProtectionDomain(VerbsContext context, long address) {
        super(context.lifecycle, address, context);
        this.context = context;
    }

    /** Returns the device that this domain belongs to. */
    public VerbsContext context() {
        return context;
    }

    /**
     * Registers memory, which pins it, for the queue pairs of this domain.
     *
     * @param address     the first byte; the memory must stay mapped until the region is closed
     * @param lengthBytes more than 0
     * @param accessFlags {@link VerbsContext#ACCESS_LOCAL_WRITE} and so on; 0 for memory that is only sent from
     */
    public MemoryRegion registerMemory(long address, long lengthBytes, int accessFlags) {
        lifecycle.lock();
        try {
            boolean optional = (accessFlags & OPTIONAL_ACCESS_FLAGS) != 0 && context.library.regMrIova2 != 0;
            int flags = optional ? accessFlags : accessFlags & ~OPTIONAL_ACCESS_FLAGS;
            long result = optional
                    ? NativeCall.pointer(context.library.regMrIova2, openAddress(), address, lengthBytes, address,
                            flags)
                    : NativeCall.pointer(context.library.regMr, openAddress(), address, lengthBytes, flags);
            return new MemoryRegion(this, VerbsContext.made("ibv_reg_mr", result, lengthBytes + " bytes"));
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Registers all memory of the process to be sent from, without pinning any: implicit on-demand paging
     * ({@code ibv_reg_mr(3)}). Of the known devices only those of softverbs send raw packets from it.
     */
    public MemoryRegion registerAllMemory() {
        return registerMemory(0, -1, ACCESS_ON_DEMAND);
    }

    /** Creates a queue pair in state RESET, or an RSS queue pair, which has no states. */
    public QueuePair createQueuePair(QueuePairOptions options) {
        lifecycle.lock();
        try {
            return QueuePair.create(this, options);
        } finally {
            lifecycle.unlock();
        }
    }

    @Override
    int destroy(long pd) {
        return NativeCall.status(context.library.deallocPd, pd);
    }

    @Override
    String destroyCall() {
        return "ibv_dealloc_pd";
    }
}
