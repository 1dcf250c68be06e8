package io.rdmaraw.verbs.mlx5;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.PageMemory;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;

/** A queue pair of libmlx5 in RTS on the emulated ConnectX, with its rings and registered memory. */
final class EmulatedQueuePair implements AutoCloseable {
    static final int REQUESTS = 64;
    static final int MAX_ELEMENTS = 6;
    static final int MAX_HEADER_BYTES = 94;
    static final int MAX_INLINE_BYTES = 200;
    static final int MEMORY_BYTES = 1 << 20;
    /** Native memory after the registered part, in which requests and completions of verbs are built. */
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

    /** Returns the address of the unregistered memory. */
    long scratch() {
        return memory.address() + MEMORY_BYTES;
    }

    @Override
    public void close() {
        context.close();
        memory.close();
    }
}
