package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.MemoryRegion;
import io.rdmaraw.verbs.ProtectionDomain;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;

/** A queue pair of libmlx5 that is ready to send, on the emulated ConnectX, with its rings and registered memory. */
final class EmulatedQueuePair implements AutoCloseable {
    static final int REQUESTS = 64;
    static final int MAX_ELEMENTS = 6;
    static final int MAX_HEADER_BYTES = 94;
    static final int MAX_INLINE_BYTES = 200;
    static final int MEMORY_BYTES = 1 << 20;
    /** The native memory behind the one that requests and completions of verbs are built in. */
    static final int SCRATCH_BYTES = 1 << 16;

    final VerbsContext context = VerbsDevices.open("mlx5_0");
    final ProtectionDomain domain = context.allocateProtectionDomain();
    final CompletionQueue completions = context.createCompletionQueue(4 * REQUESTS, null, 0);
    final QueuePair queuePair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions)
            .maxSendWr(REQUESTS).maxReceiveWr(REQUESTS).maxSendSge(MAX_ELEMENTS).maxReceiveSge(1)
            .maxTsoHeaderBytes(MAX_HEADER_BYTES).maxInlineDataBytes(MAX_INLINE_BYTES).build());
    final PageMemory memory = PageMemory.map(MEMORY_BYTES + SCRATCH_BYTES);
    final MemoryRegion region = domain.registerMemory(memory.address(), MEMORY_BYTES, VerbsContext.ACCESS_LOCAL_WRITE);
    final QueuePairRings rings = Mlx5dv.rings(queuePair);
    final CompletionRing completionRing = Mlx5dv.ring(completions);

    EmulatedQueuePair() {
        assertEquals(null, Mlx5dv.unavailability(context));
        queuePair.toInit(1);
        queuePair.toReadyToReceive();
        queuePair.toReadyToSend();
    }

    /** Returns where the memory begins that is not registered. */
    long scratch() {
        return memory.address() + MEMORY_BYTES;
    }

    @Override
    public void close() {
        context.close();
        memory.close();
    }
}
