package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.verbs.VerbsException;

/**
 * A protection domain ({@code struct ibv_pd}). Memory regions and queue pairs work together only within one
 * domain. Thread-safe.
 */
public final class ProtectionDomain extends VerbsObject {
    /** {@code IB_UVERBS_ACCESS_OPTIONAL_RANGE}: the flags that a provider may ignore. */
    private static final int OPTIONAL_ACCESS_FLAGS = 0x3ff00000;

    /** {@code IBV_ACCESS_ON_DEMAND}. */
    private static final int ACCESS_ON_DEMAND = 1 << 6;

    final VerbsContext context;

    ProtectionDomain(VerbsContext context, long address) {
        super(context.lifecycle, address, context);
        this.context = context;
    }

    /** Returns the device of this domain. */
    public VerbsContext context() {
        return context;
    }

    /**
     * Registers memory for the queue pairs of this domain and pins it.
     *
     * @param address     address of the first byte; the memory must stay mapped until the region is closed
     * @param lengthBytes length in bytes, more than 0
     * @param accessFlags an OR of {@link VerbsContext#ACCESS_LOCAL_WRITE} and so on; 0 for memory that is only
     *                    sent from
     * @throws VerbsException for example if the memlock limit of the process is exceeded
     */
    public MemoryRegion registerMemory(long address, long lengthBytes, int accessFlags) {
        lifecycle.lock();
        try {
            boolean optional = (accessFlags & OPTIONAL_ACCESS_FLAGS) != 0 && context.library.regMrIova2 != 0;
            int flags = optional ? accessFlags : accessFlags & ~OPTIONAL_ACCESS_FLAGS;
            long result = optional
                    ? NativeCall.pointer(context.library.regMrIova2, nativeAddress(), address, lengthBytes, address,
                            flags)
                    : NativeCall.pointer(context.library.regMr, nativeAddress(), address, lengthBytes, flags);
            return new MemoryRegion(this, VerbsContext.checkCreated("ibv_reg_mr", result, lengthBytes + " bytes"));
        } finally {
            lifecycle.unlock();
        }
    }

    /**
     * Registers the whole address space of the process for sending, without pinning memory (implicit on-demand
     * paging, {@code ibv_reg_mr(3)}). Of the known devices, only those of softverbs can send raw packets from
     * such a region.
     */
    public MemoryRegion registerAllMemory() {
        return registerMemory(0, -1, ACCESS_ON_DEMAND);
    }

    /** Creates a queue pair in state RESET. An RSS queue pair has no states and is ready at once. */
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
