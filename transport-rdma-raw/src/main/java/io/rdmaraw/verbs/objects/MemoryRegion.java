package io.rdmaraw.verbs.objects;

import io.rdmaraw.ffi.NativeCall;
import io.rdmaraw.ffi.NativeMemory;
import io.rdmaraw.verbs.abi.Sge;
import io.rdmaraw.verbs.abi.VerbsLayouts.MrLayout;

/** A registered memory region ({@code struct ibv_mr}). The accessors remain valid after the region is closed. */
public final class MemoryRegion extends VerbsObject {
    private final VerbsContext context;
    private final long memoryAddress;
    private final long lengthBytes;
    private final int lkey;

    MemoryRegion(ProtectionDomain domain, long mr) {
        super(domain.lifecycle, mr, domain);
        context = domain.context;
        memoryAddress = NativeMemory.getLong(mr + MrLayout.ADDR_OFFSET);
        lengthBytes = NativeMemory.getLong(mr + MrLayout.LENGTH_OFFSET);
        lkey = NativeMemory.getInt(mr + MrLayout.LKEY_OFFSET);
    }

    /** Returns the address of the first byte. */
    public long address() {
        return memoryAddress;
    }

    /** Returns the length in bytes. */
    public long lengthBytes() {
        return lengthBytes;
    }

    /** Returns the local key, which every {@link Sge} into this memory must contain. */
    public int lkey() {
        return lkey;
    }

    @Override
    int destroy(long mr) {
        return NativeCall.status(context.library.deregMr, mr);
    }

    @Override
    String destroyCall() {
        return "ibv_dereg_mr";
    }
}
